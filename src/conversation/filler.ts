import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { addAssistantMessage } from './history.js';
import { phrasesFor } from './phrases.js';

/** Short words that bridge a wait: as configured, and in any case when a stage stalls. */

/** A second filler comes no sooner than this after the first. */
const REPEAT_MS = 6000;

export function armFiller(core: Core): void {
  const { filler, deadlines } = core.config;
  core.arm('filler', core.nowMs + (filler.afterMs ?? deadlines.stallFillerMs));
}

export function onFillerDue(core: Core): void {
  const { reply, interruption, speech: voice } = core.state;
  if (reply === null || reply.phase === 'done') return;
  // Audio of the reply is on its way, somebody is speaking, or the user has just cut the agent off.
  const unwanted = voice.queue.length > 0 || interruption !== null || core.state.turn.speaking;
  const patient = reply.afterInterruption && core.config.filler.afterMs !== null && reply.round === 1;
  if (!unwanted && !patient) {
    reply.entry ??= addAssistantMessage(core);
    speech.say(core, nextFiller(core), { kind: 'filler', entry: reply.entry });
  }
  core.arm('filler', core.nowMs + REPEAT_MS);
}

/** In turn, so that none is said twice running. */
function nextFiller(core: Core): string {
  const { messages } = core.config.filler;
  const choice = messages.length > 0 ? messages : phrasesFor(core.config.language).fillers;
  return choice[core.state.filler.next++ % choice.length] ?? '';
}
