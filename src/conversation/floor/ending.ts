import { holdsFarewell } from './acknowledgements.js';
import * as speech from '../reply/agent-speech.js';
import type { Core } from '../core.js';
import type { EndStatus } from '../events.js';
import { assistantAt, setToolResult, spokenText } from '../reply/history.js';
import { phrasesFor } from '../language/phrases.js';
import { cancelReply } from '../reply/reply.js';
import { dropSpeculation } from '../reply/speculation-drop.js';
import { type EndingState, noDeadlines } from '../state.js';
import { abandonTransfer } from '../actions/transfer.js';
import { wordsOf } from '../language/words.js';

/** The end of the call: the last words are played out, then the line is closed, once. */

/** Slow speech, for the deadline of the last words. */
const MS_PER_CHAR = 120;

/**
 * Says goodbye and closes the line when it has been heard. Real words of the user before that reopen it.
 * @param entry the message in the history that the goodbye belongs to
 * @param callId the model's call that decided it
 * @param ownWords the goodbye that the model put into the call
 */
export function sayGoodbye(core: Core, entry: number, callId: string, ownWords: string | null): void {
  const phrase = core.choose('goodbye', core.config.endCall.messages);
  const goodbye = phrase === null ? ownGoodbye(core, entry, ownWords) : unlessSaid(core, entry, phrase);
  if (goodbye !== null) speech.say(core, goodbye, { kind: 'goodbye', entry });
  beginEnding(core, { status: 'agent-ended', reversible: true, call: { entry, callId } });
}

/** Ends by decision of the engine: everything else is dropped, `message` is said if there is one. */
export function endNow(core: Core, status: EndStatus, message: string | null): void {
  if (core.state.line !== 'open' || core.state.ending?.reversible === false) return;
  fallSilent(core);
  if (message !== null) speech.say(core, message, { kind: 'goodbye', interruptible: false });
  beginEnding(core, { status, reversible: false, call: null });
}

/** The user spoke up before the line was closed: the conversation goes on. */
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

/** Closes the line if the end was decided and all has been said. */
export function closeIfDone(core: Core): void {
  const { ending, interruption } = core.state;
  if (ending !== null && interruption === null && !speech.isSpeaking(core)) close(core, ending.status, true);
}

/** The last words took too long: the line is closed regardless. */
export function onClosingDue(core: Core): void {
  if (core.state.ending === null) return;
  core.trace('ending.stalled');
  close(core, core.state.ending.status, true);
}

/** The line is gone, or goes now (`hangUp`). Nothing comes after this. */
export function close(core: Core, status: EndStatus, hangUp: boolean): void {
  if (core.state.line === 'closed') return;
  fallSilent(core);
  core.state.line = 'closed';
  core.state.ending = { status, reversible: false, call: null };
  core.state.deadlines = noDeadlines();
  core.trace('ended', { status });
  if (hangUp) core.emit({ type: 'line.close', status });
}

/** Drops all that the agent was saying, or about to say. */
export function fallSilent(core: Core): void {
  dropSpeculation(core, 'the end');
  abandonTransfer(core);
  cancelReply(core);
  core.state.interruption = null;
  core.disarm('interruption');
  speech.drop(core);
}

/** A goodbye that the model has just said by itself, word for word, is not said again. */
function unlessSaid(core: Core, entry: number, phrase: string): string | null {
  const said = wordsOf(spokenText(assistantAt(core, entry), true)).join(' ');
  return ` ${said} `.includes(` ${wordsOf(phrase).join(' ')} `) ? null : phrase;
}

/** The model's goodbye, unless it has said one already beside the call; a stock one where it said nothing at all. */
function ownGoodbye(core: Core, entry: number, ownWords: string | null): string | null {
  const { language } = core;
  const said = spokenText(assistantAt(core, entry), true);
  if (ownWords !== null && !holdsFarewell(said, language)) return ownWords;
  return said === '' ? phrasesFor(language).goodbye : null;
}

/** The line is closed when all has been said. */
export function beginEnding(core: Core, ending: EndingState): void {
  core.state.ending = ending;
  core.trace('ending', { status: ending.status, reversible: ending.reversible });
  core.disarm('inactivity', 'idle', 'opening', 'filler');
  const chars = core.state.speech.queue.reduce((sum, utterance) => sum + utterance.text.length, 0);
  core.arm('closing', core.nowMs + core.config.deadlines.closingMs + chars * MS_PER_CHAR);
}
