import type { Core } from '../core.js';
import { beginEnding } from '../reply/ending.js';
import { newReply } from '../reply/reply.js';
import { dropSpeculation } from '../reply/early.js';
import { beginTransfer, targetOf, transferTo } from '../actions/transfer.js';

/** Commands of a custom LLM outside an answer. */

/** The call ends when all queued speech has been heard, unless the user speaks before that. */
export function hangUp(core: Core): void {
  if (core.state.ending === null) core.state.commanded = { target: null };
}

/** Connects the user to the target when all queued speech has been heard and the user is silent. */
export function transfer(core: Core, target: string): void {
  const { config, state } = core;
  if (state.ending !== null || state.transfer !== null) return;
  if (config.transfer === null || targetOf(transferTo(core, target), config.transfer) === null) {
    core.trace('transfer.refused', {});
    return;
  }
  state.commanded = { target };
}

/** Carries out a command once the answer is available and the user is silent. */
export function settle(core: Core): void {
  const { state } = core;
  const { commanded, turn, reply } = state;
  if (commanded === null || turn.speaking || turn.segments.length > 0 || state.interruption !== null) return;
  if (reply !== null && reply.phase !== 'done') return;
  state.commanded = null;
  if (state.ending !== null || state.transfer !== null || state.tools.length > 0) return;
  if (commanded.target === null) {
    dropSpeculation(core, 'the end');
    beginEnding(core, { status: 'agent-ended', reversible: true, call: null });
    return;
  }
  dropSpeculation(core, 'a transfer');
  const unasked = { text: '', number: turn.number, entry: null, interrupts: false };
  state.reply ??= { ...newReply(unasked), requestId: core.newId(), phase: 'done' };
  beginTransfer(core, state.reply, transferTo(core, commanded.target));
}

export function switchTo(core: Core, language: string): void {
  if (language === core.language) return;
  core.trace('language', { from: core.language, to: language });
  dropSpeculation(core, 'another language');
  core.state.language = language;
}
