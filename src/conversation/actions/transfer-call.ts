import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { textArgument } from './call-arguments.js';
import type { TransferConfig, TransferTarget } from '../config.js';

/** The action by which the model hands the call to a person. */
export const TRANSFER_CALL = 'transfer_call';

const SUMMARY =
  'What whoever takes the call is told of it, in one or two sentences and in the language of the conversation: who the ' +
  'user is as far as is known, what they want, and what has been done about it.';

export function transferCallTool({ targets, instruction, messages, attended = null }: TransferConfig): ToolSpec {
  const when = instruction ?? 'Use it when the user asks for a person.';
  const notice =
    messages.length > 0
      ? 'The user is told for you: do not say so yourself.'
      : 'Tell the user in `message`, in the language of the conversation.';
  const what =
    attended === null
      ? 'Connects the user to somebody else and ends your part.'
      : 'Asks somebody else whether they take the call, while the user waits; if they do, the two are connected and ' +
        'your part ends.';
  const required = [...(targets.length > 1 ? ['phone'] : []), ...(attended === null ? [] : ['summary'])];
  return {
    name: TRANSFER_CALL,
    description: `${what} ${when} ${notice}`,
    parameters: {
      type: 'object',
      properties: {
        phone: { type: 'string', enum: targets.map(({ phone }) => phone), description: targetList(targets) },
        message: { type: 'string', description: 'What the user hears before they are connected.' },
        ...(attended !== null && { summary: { type: 'string', description: SUMMARY } }),
      },
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
  };
}

/** The target that a call names, however it writes the number; the only one where it names none. Null = not in the list. */
export function targetOf(call: ToolCall, { targets, anyTarget = false }: TransferConfig): string | null {
  const wanted = textArgument(call.arguments, 'phone');
  if (wanted === null) return targets.length === 1 ? (targets[0]?.phone ?? null) : null;
  return (
    targets.find(({ phone }) => phone === wanted)?.phone ??
    targets.find(({ phone }) => plain(phone) !== '' && plain(phone) === plain(wanted))?.phone ??
    (anyTarget ? wanted : null)
  );
}

function targetList(targets: readonly TransferTarget[]): string {
  const lines = targets.map(({ phone, description }) => (description === null ? phone : `${phone}: ${description}`));
  return `Whom to connect to. ${lines.join('; ')}`;
}

/** A number without what people write between its digits; anything else as it is. */
function plain(phone: string): string {
  return /^\+?[\d\s().-]+$/.test(phone) ? phone.replaceAll(/[\s().-]/g, '') : phone;
}
