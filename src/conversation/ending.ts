import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import type { EndStatus } from './events.js';
import { phrasesFor } from './phrases.js';
import { cancelReply } from './reply.js';

/** The end of the call: the last words are played out, then the line is closed, once. */

/** Says goodbye and closes the line when it has been heard. Real words of the user before that reopen it. */
export function sayGoodbye(core: Core, ownWords: string | null, modelSpoke: boolean, entry?: number): void {
  const { messages } = core.config.endCall;
  const goodbye =
    messages.length > 0
      ? (messages[core.state.filler.next++ % messages.length] as string)
      : (ownWords ?? (modelSpoke ? null : phrasesFor(core.config.language).goodbye));
  if (goodbye !== null) speech.say(core, goodbye, { kind: 'goodbye', ...(entry === undefined ? {} : { entry }) });
  beginEnding(core, 'agent-ended', true);
}

/** Ends by decision of the engine: everything else is dropped, `message` is said if there is one. */
export function endNow(core: Core, status: EndStatus, message: string | null): void {
  if (core.state.line === 'closed' || core.state.ending?.reversible === false) return;
  cancelReply(core);
  core.state.interruption = null;
  core.disarm('interruption');
  if (speech.isSpeaking(core)) speech.drop(core);
  if (message !== null) speech.say(core, message, { kind: 'goodbye', interruptible: false });
  beginEnding(core, status, false);
}

/** The user spoke up before the line was closed: the conversation goes on. */
export function reopen(core: Core): void {
  if (core.state.ending?.reversible !== true) return;
  core.state.ending = null;
  core.disarm('closing');
  core.trace('ending.reopened');
}

/** Closes the line if the end was decided and all has been said. */
export function closeIfDone(core: Core): void {
  const { ending, interruption } = core.state;
  if (ending !== null && interruption === null && !speech.isSpeaking(core)) close(core, ending.status, true);
}

/** The last words took too long: the line is closed regardless. */
export function onClosingDue(core: Core): void {
  if (core.state.ending !== null) close(core, core.state.ending.status, true);
}

/** The line is gone, or goes now (`hangUp`). Nothing comes after this. */
export function close(core: Core, status: EndStatus, hangUp: boolean): void {
  if (core.state.line === 'closed') return;
  cancelReply(core);
  if (speech.isSpeaking(core)) speech.drop(core);
  core.state.line = 'closed';
  core.state.ending = { status, reversible: false };
  core.state.interruption = null;
  core.state.deadlines = {};
  core.trace('ended', { status });
  if (hangUp) core.emit({ type: 'line.close', status });
}

function beginEnding(core: Core, status: EndStatus, reversible: boolean): void {
  core.state.ending = { status, reversible };
  core.disarm('inactivity', 'idle', 'opening', 'filler');
  core.arm('closing', core.nowMs + core.config.deadlines.closingMs);
  closeIfDone(core);
}
