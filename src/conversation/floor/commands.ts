import type { CommandOf, CommandRefusal } from '../control/command.js';
import { open, refuse } from '../control/outcome.js';
import { releaseHold } from '../control/release-hold.js';
import type { Core } from '../core.js';
import { beginEnding } from '../reply/ending.js';
import { newReply } from '../reply/reply.js';
import { dropSpeculation } from '../reply/early.js';
import { beginTransfer, cancelTransfer, targetOf, transferTo } from '../actions/transfer.js';

/** Commands to end the call or to pass the user on, of a program or of a custom LLM outside an answer. */

/** The call ends when all queued speech has been heard, unless the user speaks before that. */
export function hangUp(core: Core): void {
  if (core.state.ending === null) core.state.commanded = { target: null };
}

/** Connects the user to the target when all queued speech has been heard and the user is silent. */
export function transfer(core: Core, { id, target, attended, summary }: CommandOf<'command.transfer'>): void {
  const { config, state } = core;
  const why = whyNotTransfer(core);
  if (id === undefined) {
    if (why === 'ending' || state.transfer !== null) return;
    if (config.transfer === null || targetOf(transferTo(core, target), config.transfer) === null) {
      core.trace('transfer.refused', {});
      return;
    }
    state.commanded = { target };
    return;
  }
  if (why !== null) {
    refuse(core, id, why);
    return;
  }
  releaseHold(core);
  core.disarm('opening');
  open(core, id, 'other');
  state.commanded = { target, id, attended: attended ?? null, summary: summary ?? null };
}

function whyNotTransfer(core: Core): CommandRefusal | null {
  const { ending, commanded, voicemail, muted } = core.state;
  if (ending !== null) return 'ending';
  if (core.state.transfer !== null || (commanded !== null && commanded.target !== null)) return 'transferring';
  if (voicemail?.phase === 'greeting' || voicemail?.phase === 'message') return 'machine';
  if (muted.agent) return 'muted';
  return core.isTakenOver ? 'takenOver' : null;
}

/** A transfer is not wanted any more. */
export function withdraw(core: Core, id: number): void {
  if (core.state.commanded?.id === id) {
    core.state.commanded = null;
    refuse(core, id, 'withdrawn');
  } else if (core.state.transfer?.command === id) cancelTransfer(core);
}

/** Carries out a command once the answer is available and the user is silent. */
export function settle(core: Core): void {
  const { state } = core;
  const { commanded, turn, reply, hold } = state;
  if (commanded === null || turn.speaking || turn.segments.length > 0 || state.interruption !== null) return;
  if (reply !== null && reply.phase !== 'done') return;
  if (commanded.target !== null && (core.isSilenced || hold !== null)) return;
  // The model's tools may still change the plan of a custom LLM; a program waits for them.
  if (commanded.id !== undefined && state.tools.length > 0) return;
  state.commanded = null;
  if (state.ending !== null || state.transfer !== null || state.tools.length > 0) {
    refuse(core, commanded.id, state.ending === null ? 'transferring' : 'ending');
    return;
  }
  if (commanded.target === null) {
    dropSpeculation(core, 'the end');
    beginEnding(core, { status: 'agent-ended', reversible: true, call: null });
    return;
  }
  dropSpeculation(core, 'a transfer');
  const unasked = { text: '', number: turn.number, entry: null, interrupts: false };
  state.reply ??= { ...newReply(unasked), requestId: core.newId(), phase: 'done' };
  const { target, id, own, attended = null, summary = null } = commanded;
  const order = id === undefined && own !== true ? undefined : { id: id ?? null, target, attended, summary };
  beginTransfer(core, state.reply, transferTo(core, target), order);
}

export function switchTo(core: Core, language: string): void {
  if (language === core.language) return;
  core.trace('language', { from: core.language, to: language });
  dropSpeculation(core, 'another language');
  core.state.language = language;
}
