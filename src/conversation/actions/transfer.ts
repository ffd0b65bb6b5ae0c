import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import * as speech from '../speech/agent-speech.js';
import { textArgument } from './call-arguments.js';
import { done, refuse } from '../control/outcome.js';
import type { Core, FinalAction } from '../core.js';
import { addToolCall, assistantAt, setToolResult, spokenText } from '../speech/history.js';
import { phrasesFor } from '../language/phrases.js';
import { nextRound, replyEntry } from '../reply/reply.js';
import { goOn } from '../reply/tool-calls.js';
import { noteResult } from '../steps/steps.js';
import type { ReplyState } from '../state.js';
import type { AttendedTransferConfig, TransferConfig, TransferTarget } from '../../agent/flow/actions.js';

/**
 * Transfers the call: plays the notice, then asks the line to connect. Success ends the agent's part; after a failure
 * the agent continues. Words over the notice do not stop the transfer; they wait for a failure.
 */

const CONNECTED = 'The user was connected.';
/** Interval of spoken updates, in addition to the music, while the user waits for an attended transfer. */
const WAITING_MS = 15_000;
/** Delay of an update while one of the two is speaking. */
const LATER_MS = 2000;
/** Time in addition to the ringing: the target hears what the call is about, decides, and is connected. */
const ATTENDED_MS = 180_000;

const SUMMARY =
  'What whoever takes the call is told of it, in one or two sentences and in the language of the conversation: who the ' +
  'user is as far as is known, what they want, and what has been done about it.';

/** The model transfers the call to a person. */
export const transferCall: FinalAction = {
  kind: 'final',
  name: 'transfer_call',
  isEnabled: (config) => config.transfer !== null,
  tool: ({ transfer }) => (transfer !== null && transfer.targets.length > 0 ? transferCallTool(transfer) : null),
  begin: (core, reply, call) => beginTransfer(core, reply, call),
  abandon: abandonTransfer,
};

/** The call of a transfer that was requested externally. */
export function transferTo(core: Core, target: string): ToolCall {
  const id = `transfer-${String(core.newId())}`;
  return { id, name: transferCall.name, arguments: JSON.stringify({ phone: target }) };
}

/** A program's transfer: to any target, and with its own choice whether the target is asked first. */
export interface TransferOrder {
  /** Null = nobody waits for the outcome. */
  id: number | null;
  target: string;
  /** Null = as the agent is set. */
  attended: boolean | null;
  summary: string | null;
}

/** How a target is asked if the agent has no settings for that. */
const ASKED_FIRST: AttendedTransferConfig = {
  briefing: null,
  confirm: true,
  ringMs: 30_000,
  holdSound: 'music',
  holdMessages: [],
};
const UNNAMED: TransferConfig = { targets: [], instruction: null, messages: [] };

export function beginTransfer(core: Core, reply: ReplyState, call: ToolCall, order?: TransferOrder): void {
  const transfer = order === undefined ? core.config.transfer : (core.config.transfer ?? UNNAMED);
  const entry = replyEntry(core, reply);
  reply.phase = 'tools';
  reply.acted = true;
  addToolCall(core, entry, call);
  core.disarm('filler');
  const target = order?.target ?? (transfer === null ? null : targetOf(call, transfer));
  if (transfer === null || target === null) {
    core.trace('transfer.refused', {});
    setToolResult(core, entry, call.id, 'Not transferred: `phone` has to be one of those given.');
    nextRound(core, reply);
    return;
  }
  core.trace('transfer', { target });
  speech.playOut(core);
  const notice = core.choose('transfer', transfer.messages) ?? ownNotice(core, entry, call);
  if (notice !== null) speech.say(core, notice, { kind: 'transfer', entry, interruptible: false });
  const summary = order?.summary ?? textArgument(call.arguments, 'summary');
  const asks = order?.attended ?? transfer.attended != null;
  const attended = asks ? (transfer.attended ?? ASKED_FIRST) : null;
  const { requestId } = reply;
  const command = order?.id ?? null;
  core.state.transfer = { phase: 'notice', target, summary, entry, callId: call.id, requestId, attended, command };
}

/** Connects once all queued speech has been heard. */
export function connectWhenSaid(core: Core): void {
  const { transfer } = core.state;
  if (transfer?.phase !== 'notice' || speech.isSpeaking(core)) return;
  transfer.phase = 'connecting';
  const { callId, target, summary, attended } = transfer;
  if (attended === null) {
    core.arm('transfer', core.nowMs + core.config.deadlines.transferMs);
    core.emit({ type: 'line.transfer', callId, target });
    return;
  }
  core.arm('transfer', core.nowMs + attended.ringMs + ATTENDED_MS);
  core.arm('transfer.waiting', core.nowMs + WAITING_MS);
  const { briefing, confirm, ringMs, holdSound } = attended;
  core.emit({ type: 'line.transfer', callId, target, attended: { briefing, confirm, ringMs, holdSound, summary } });
}

/** The user has been waiting for a while: tells them that the agent is still trying. */
export function onWaitingDue(core: Core): void {
  const { transfer, turn } = core.state;
  if (transfer?.phase !== 'connecting') return;
  const isBusy = turn.speaking || speech.isSpeaking(core);
  core.arm('transfer.waiting', core.nowMs + (isBusy ? LATER_MS : WAITING_MS));
  if (isBusy) return;
  const own = transfer.attended?.holdMessages ?? [];
  const words = core.choose('transfer.waiting', own) ?? phrasesFor(core.language).waiting;
  // Part of the same message, so that the result of the transfer is the last thing that the model reads.
  speech.say(core, words, { kind: 'transfer', entry: transfer.entry, interruptible: false });
}

/** Takes the result. Returns whether the user was connected: then the agent's part is over. */
export function onTransferResult(core: Core, callId: string, ok: boolean, reason: string): boolean {
  const { transfer } = core.state;
  if (transfer?.phase !== 'connecting' || transfer.callId !== callId) return false;
  core.trace('transfer.result', { ok, reason });
  if (!ok) {
    fail(core, reason);
    return false;
  }
  setToolResult(core, transfer.entry, callId, CONNECTED);
  done(core, transfer.command);
  core.state.transfer = null;
  core.disarm('transfer', 'transfer.waiting');
  return true;
}

export function onTransferDue(core: Core): void {
  if (core.state.transfer === null) return;
  core.trace('transfer.timeout');
  core.emit({ type: 'line.transfer.cancel' });
  fail(core, 'nobody answered in time');
}

/** A program does not want its transfer any more. */
export function cancelTransfer(core: Core): void {
  if (core.state.transfer?.phase === 'connecting') core.emit({ type: 'line.transfer.cancel' });
  fail(core, 'it was called off');
}

/** The call ends before the target was reached. */
function abandonTransfer(core: Core): void {
  const { transfer } = core.state;
  if (transfer === null) return;
  if (transfer.phase === 'connecting') core.emit({ type: 'line.transfer.cancel' });
  setToolResult(core, transfer.entry, transfer.callId, 'The call ended before the user was connected.');
  core.state.transfer = null;
  core.disarm('transfer', 'transfer.waiting');
}

/**
 * The transfer has failed and the user is with the agent again: the answer to their words meanwhile tells them, or else
 * a new one.
 */
function fail(core: Core, reason: string): void {
  const { transfer, reply, turn } = core.state;
  if (transfer === null) return;
  setToolResult(core, transfer.entry, transfer.callId, `Not connected: ${reason}. The user is still on the line.`);
  if (transfer.command !== null) refuse(core, transfer.command, 'notConnected', reason);
  noteResult(core, transferCall.name, false, reason);
  core.state.transfer = null;
  core.disarm('transfer', 'transfer.waiting');
  core.state.hasUnreportedResults = true;
  if (reply?.requestId !== transfer.requestId) return;
  // Who speaks is answered when their turn is over.
  if (turn.waiting || turn.speaking) reply.phase = 'done';
  else goOn(core, reply);
}

/** The model's words; standard ones if it said nothing. */
function ownNotice(core: Core, entry: number, call: ToolCall): string | null {
  const words = textArgument(call.arguments, 'message');
  if (words !== null) return words;
  return spokenText(assistantAt(core, entry), true) === '' ? phrasesFor(core.language).connecting : null;
}

function transferCallTool({ targets, instruction, messages, attended = null }: TransferConfig): ToolSpec {
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
    name: transferCall.name,
    description: `${what} ${when} ${notice}`,
    parameters: {
      type: 'object',
      properties: {
        phone: { type: 'string', enum: targets.map(({ phone }) => phone), description: targetList(targets) },
        message: { type: 'string', description: 'What the user hears before they are connected.' },
        summary: attended === null ? undefined : { type: 'string', description: SUMMARY },
      },
      required: required.length > 0 ? required : undefined,
      additionalProperties: false,
    },
  };
}

/**
 * The target that a call names, in any notation of the number; if it names none, the only target. Null = not in the
 * list.
 */
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

/** Removes separators from a number; leaves anything else unchanged. */
function plain(phone: string): string {
  return /^\+?[\d\s().-]+$/.test(phone) ? phone.replaceAll(/[\s().-]/g, '') : phone;
}
