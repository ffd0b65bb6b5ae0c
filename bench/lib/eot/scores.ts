import { core, type HeardTurn } from '../detectors.js';
import { MIN_SILENCE_MS, type ScoredSilence, type ScoredTurn } from './rules.js';

/** A turn in which a detector is asked every so often. */
const INTERVAL_MS = 100;
/** A voice fades: the core may decide so long before the labelled end of speech. */
const EARLY_MS = 50;
/** The core's readiness to end a turn: from a tenth of its silences to eight times as long ones. */
const SCALES = Array.from({ length: 48 }, (_, index) => 0.1 * 80 ** (index / 47));

/**
 * The turn with scores at eot-bench's grid. A silence has scores from its start to its end; what shorter ones than 0.1 s
 * sound like is not asked.
 *
 * @param probabilityAt at a time of the recording, in ms; null = no score at this time
 */
export function scoredTurn(
  { turn, pauses }: HeardTurn,
  probabilityAt: (atMs: number, silence: number) => number | null,
): ScoredTurn {
  const endsMs = (turn.audio.length * 1000) / 16_000;
  const all = [...pauses, { startMs: turn.endMs, endMs: endsMs }];
  const silences = all.flatMap(({ startMs, endMs }, at): ScoredSilence[] => {
    const durationMs = endMs - startMs;
    if (durationMs < MIN_SILENCE_MS) return [];
    const scores = gridOf(durationMs).flatMap((atMs) => {
      const probability = probabilityAt(startMs + atMs, at);
      return probability === null ? [] : [{ atMs, probability }];
    });
    return [{ label: at === pauses.length ? 'eot' : 'hold', index: at, durationMs, scores }];
  });
  return { id: turn.name, silences };
}

/**
 * The conversation core as a detector: the share of its settings, from a tenth of its silences to eight times as long
 * ones, that have ended the turn by then.
 */
export function scoredByCore(heard: HeardTurn): ScoredTurn {
  const closes = SCALES.map((scale) => core(scale)(heard));
  const { pauses, turn } = heard;
  return scoredTurn(heard, (atMs, silence) => {
    const startMs = pauses[silence]?.startMs ?? turn.endMs;
    const closed = closes.filter((times) => times.some((time) => time >= startMs - EARLY_MS && time <= atMs));
    return closed.length / SCALES.length;
  });
}

/** An audio model alone: what it said last of each silence. */
export function scoredByModel(heard: HeardTurn): ScoredTurn {
  const judged = heard.reported.flatMap(({ atMs, event }) =>
    event.type === 'turn.judged' ? [{ atMs, probability: event.probability }] : [],
  );
  const { pauses, turn } = heard;
  return scoredTurn(heard, (atMs, silence) => {
    const startMs = pauses[silence]?.startMs ?? turn.endMs;
    const last = judged.findLast((one) => one.atMs >= startMs - EARLY_MS && one.atMs <= atMs);
    return last?.probability ?? 0;
  });
}

/** The start, every 0.1 s, and the end. */
function gridOf(durationMs: number): number[] {
  const grid = Array.from({ length: Math.floor(durationMs / INTERVAL_MS + 1e-6) + 1 }, (_, at) => at * INTERVAL_MS);
  return durationMs - (grid.at(-1) as number) > 1e-3 ? [...grid, durationMs] : grid;
}
