import type { ToolCall, ToolSpec } from '../config/chat.js';
import { textArgument } from './call-arguments.js';
import type { TransferConfig, TransferTarget } from './config.js';

/** The action by which the model hands the call to a person. */
export const TRANSFER_CALL = 'transfer_call';

export function transferCallTool({ targets, instruction, messages }: TransferConfig): ToolSpec {
  const when = instruction ?? 'Use it when the user asks for a person.';
  const notice =
    messages.length > 0
      ? 'The user is told for you: do not say so yourself.'
      : 'Tell the user in `message`, in the language of the conversation.';
  return {
    name: TRANSFER_CALL,
    description: `Connects the user to somebody else and ends your part. ${when} ${notice}`,
    parameters: {
      type: 'object',
      properties: {
        phone: { type: 'string', enum: targets.map(({ phone }) => phone), description: targetList(targets) },
        message: { type: 'string', description: 'What the user hears before they are connected.' },
      },
      ...(targets.length > 1 && { required: ['phone'] }),
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
