import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { addAssistantMessage } from './history.js';
import { phrasesFor } from './phrases.js';
import { isPressing } from './press-digits.js';

/** Short words that bridge a wait: as configured, and in any case when a stage stalls. */

/** A second filler comes no sooner than this after the first. */
const REPEAT_MS = 6000;
/** Somebody else has the floor: after this it is tried again. */
const AGAIN_MS = 500;
/** A wait that will be given up this soon is not bridged any more. */
const GIVEN_UP_MS = 2000;

/** The wait for something to say has begun. */
export function armFiller(core: Core): void {
  const { filler, deadlines } = core.config;
  const { reply } = core.state;
  if (reply === null) return;
  // Neither an interruption nor a greeting is answered by a filler, unless the wait has become a stall.
  const bridges = reply.userEntry !== null && !(reply.afterInterruption && reply.round === 1);
  const waitMs = bridges
    ? (filler.afterMs ?? deadlines.stallFillerMs)
    : Math.max(filler.afterMs ?? 0, deadlines.stallFillerMs);
  const { lastMs } = core.state.filler;
  core.arm('filler', Math.max(core.nowMs + waitMs, lastMs === null ? 0 : lastMs + REPEAT_MS));
}

export function onFillerDue(core: Core): void {
  const { reply, interruption, turn } = core.state;
  if (reply === null || reply.phase === 'done') return;
  if (interruption !== null || turn.speaking || speech.isSpeaking(core) || isPressing(core)) {
    core.arm('filler', core.nowMs + AGAIN_MS);
    return;
  }
  if ((core.state.deadlines['llm.first'] ?? Infinity) < core.nowMs + GIVEN_UP_MS) {
    core.arm('filler', core.nowMs + AGAIN_MS); // it may begin after all, and then come word by word
    return;
  }
  const { messages } = core.config.filler;
  const phrase = core.choose('filler', messages) ?? core.choose('filler', phrasesFor(core.config.language).fillers);
  core.state.filler.lastMs = core.nowMs;
  core.arm('filler', core.nowMs + REPEAT_MS);
  if (phrase === null) return;
  reply.entry ??= addAssistantMessage(core);
  speech.say(core, phrase, { kind: 'filler', entry: reply.entry });
}
