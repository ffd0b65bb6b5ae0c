import * as speech from '../speech/agent-speech.js';
import { refuseAll } from '../control/outcome.js';
import { releaseHold } from '../control/release-hold.js';
import type { Core } from '../core.js';
import type { EndStatus } from '../events.js';
import { setToolResult } from '../speech/history.js';
import { cancelReply } from './reply.js';
import { dropSpeculation } from './early.js';
import { type EndingState, noDeadlines } from '../state.js';

/** The end of the call: plays the last words, then closes the line, once. */

/** Speech rate at the slow end, for the deadline of the last words. */
const MS_PER_CHAR = 120;

/** Ends by decision of the engine: drops everything else and says `message`, if there is one. */
export function endNow(core: Core, status: EndStatus, message: string | null): void {
  if (core.state.line !== 'open' || core.state.ending?.reversible === false) return;
  fallSilent(core);
  if (message !== null && !core.isSilenced) speech.say(core, message, { kind: 'goodbye', interruptible: false });
  beginEnding(core, { status, reversible: false, call: null });
}

/** The user spoke before the line closed: the conversation continues. */
export function reopen(core: Core): void {
  const { ending } = core.state;
  if (ending?.reversible !== true) return;
  if (ending.call !== null) {
    setToolResult(core, ending.call.entry, ending.call.callId, 'The call was not ended: the user went on.');
  }
  core.state.ending = null;
  core.disarm('closing');
  core.trace('ending.reopened');
}

/** Closes the line if the end is decided and all queued speech has been heard. */
export function closeIfDone(core: Core): void {
  const { ending, interruption } = core.state;
  if (ending !== null && interruption === null && !speech.isSpeaking(core)) close(core, ending.status, true);
}

/** The last words took too long: closes the line. */
export function onClosingDue(core: Core): void {
  if (core.state.ending === null) return;
  core.trace('ending.stalled');
  close(core, core.state.ending.status, true);
}

/** The line is gone, or closes now (`hangUp`). Nothing follows. */
export function close(core: Core, status: EndStatus, hangUp: boolean): void {
  if (core.state.line === 'closed') return;
  fallSilent(core);
  refuseAll(core);
  core.state.press = null;
  core.state.line = 'closed';
  core.state.ending = { status, reversible: false, call: null };
  core.state.deadlines = noDeadlines();
  core.trace('ended', { status });
  if (hangUp) core.emit({ type: 'line.close', status });
}

/** Drops all queued speech and speech in progress. */
export function fallSilent(core: Core): void {
  releaseHold(core);
  dropSpeculation(core, 'the end');
  for (const action of core.actions) action.abandon?.(core);
  cancelReply(core);
  core.state.interruption = null;
  core.disarm('interruption');
  speech.drop(core);
}

/** Closes the line when all queued speech has been heard. */
export function beginEnding(core: Core, ending: EndingState): void {
  core.state.ending = ending;
  core.trace('ending', { status: ending.status, reversible: ending.reversible });
  core.disarm('inactivity', 'idle', 'opening', 'filler');
  const chars = core.state.speech.queue.reduce((sum, utterance) => sum + utterance.text.length, 0);
  core.arm('closing', core.nowMs + core.config.deadlines.closingMs + chars * MS_PER_CHAR);
}
