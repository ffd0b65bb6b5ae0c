import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import { addAssistantMessage } from '../speech/history.js';
import { phrasesFor } from '../language/phrases.js';

/** Short phrases that bridge a wait: as configured, and always when a stage stalls. */

/** Minimum time between two fillers. */
const REPEAT_MS = 4000;
/** The other side has the floor: tries again after this. */
const AGAIN_MS = 500;
/** A wait that ends within this time gets no filler. */
const GIVEN_UP_MS = 2000;

/** A wait for something to say has begun. */
export function armFiller(core: Core): void {
  const { filler, deadlines } = core.config;
  const { reply } = core.state;
  if (reply === null) return;
  // No filler follows an interruption or a greeting, unless the wait has become a stall.
  const bridges = reply.userEntry !== null && !(reply.afterInterruption && reply.round === 1);
  const waitMs = bridges
    ? (filler.afterMs ?? deadlines.stallFillerMs)
    : Math.max(filler.afterMs ?? 0, deadlines.stallFillerMs);
  const { lastMs } = core.state.filler;
  const { endMs } = core.state.speech.said;
  // After words of this turn (a tool's phrase, for example) only a stall gets a filler.
  const quietMs = reply.round > 1 && endMs !== null ? endMs + deadlines.stallFillerMs : 0;
  core.arm('filler', Math.max(core.nowMs + waitMs, quietMs, lastMs === null ? 0 : lastMs + REPEAT_MS));
}

/** Something was said meanwhile and more is to come: the wait starts again, and only a stall gets a filler. */
export function onAgentHeard(core: Core): void {
  const { filler, reply, deadlines } = core.state;
  const streams = reply?.phase === 'thinking' || reply?.phase === 'streaming';
  if (deadlines.filler === null && !streams) return;
  const stallMs = Math.max(core.config.filler.afterMs ?? 0, core.config.deadlines.stallFillerMs);
  const repeatMs = filler.lastMs === null ? 0 : filler.lastMs + REPEAT_MS;
  core.arm('filler', Math.max(deadlines.filler ?? 0, core.nowMs + stallMs, repeatMs));
}

export function onFillerDue(core: Core): void {
  const { reply, interruption, turn } = core.state;
  if (reply === null || reply.phase === 'done') return;
  if (interruption !== null || turn.speaking || speech.isSpeaking(core) || core.isLineTaken) {
    core.arm('filler', core.nowMs + AGAIN_MS);
    return;
  }
  if ((core.state.deadlines['llm.first'] ?? Infinity) < core.nowMs + GIVEN_UP_MS) {
    core.arm('filler', core.nowMs + AGAIN_MS); // the model may start after all, and then words follow
    return;
  }
  const phrase = nextPhrase(core, reply.turnNumber);
  core.state.filler = { lastMs: core.nowMs, text: phrase, turn: reply.turnNumber };
  core.arm('filler', core.nowMs + REPEAT_MS);
  if (phrase === null) return;
  core.trace('filler', { turn: reply.turnNumber, phase: reply.phase });
  reply.entry ??= addAssistantMessage(core);
  speech.say(core, phrase, { kind: 'filler', entry: reply.entry });
}

/** The next phrase. If only one is configured, the second filler of a turn is a standard phrase. */
function nextPhrase(core: Core, turn: number): string | null {
  const { text, turn: lastTurn } = core.state.filler;
  const stock = phrasesFor(core.language).fillers;
  const phrase = core.choose('filler', core.config.filler.messages) ?? core.choose('filler', stock);
  if (phrase === null || phrase !== text || turn !== lastTurn) return phrase;
  return core.choose(
    'filler',
    stock.filter((candidate) => candidate !== phrase),
  );
}
