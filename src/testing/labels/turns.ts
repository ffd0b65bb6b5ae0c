import type { Labels } from './labels.js';

/** One speaker's turn in a recording. Times in milliseconds. */
export interface LabelledTurn {
  speaker?: string;
  startMs: number;
  endMs: number;
  /** The speaker's stretches of speech. */
  speech: { startMs: number; endMs: number }[];
  /** Silences inside the turn, in which no other speaker speaks. */
  pauses: { startMs: number; endMs: number }[];
}

/** A shorter silence is part of the speech. */
const MIN_PAUSE_MS = 150;
/** A longer silence ends the turn. */
const MAX_PAUSE_MS = 1500;
/** Shorter speech of another speaker is an acknowledgement and does not take the floor. */
const MIN_FLOOR_MS = 700;
/** The next speaker may take the floor this long before the end of the current speech. */
const OVERLAP_MS = 500;

type Stretch = Labels['speech'][number];

/**
 * Finds turns in stretches of speech, for labels without turns (`.lab`, `.rttm`). A speaker's silence is
 *
 * - a pause, if nobody speaks in it and it lasts 150 to 1500 ms;
 * - the end of the turn, if it lasts longer, or if another speaker starts in it, or up to 500 ms before it, and speaks
 *   for 700 ms or more;
 * - neither, if others only acknowledge: the turn continues, and the silence is not listed.
 */
export function turnsOf(speech: readonly Stretch[]): LabelledTurn[] {
  const speakers = [...new Set(speech.map(({ speaker }) => speaker))];
  return speakers
    .flatMap((speaker) => {
      const others = speech.filter((stretch) => stretch.speaker !== speaker);
      const own = speech.filter((stretch) => stretch.speaker === speaker);
      return split(own, others).map((turn) => (speaker === undefined ? turn : { speaker, ...turn }));
    })
    .sort((a, b) => a.startMs - b.startMs);
}

function split(own: readonly Stretch[], others: readonly Stretch[]): LabelledTurn[] {
  const turns: LabelledTurn[] = [];
  for (const { startMs, endMs } of own) {
    const turn = turns.at(-1);
    const gap = turn === undefined ? null : { startMs: turn.endMs, endMs: startMs };
    if (turn === undefined || gap === null || endsTurn(gap, others)) {
      turns.push({ startMs, endMs, speech: [{ startMs, endMs }], pauses: [] });
      continue;
    }
    const lengthMs = gap.endMs - gap.startMs;
    const last = turn.speech.at(-1);
    if (lengthMs < MIN_PAUSE_MS && last !== undefined) last.endMs = Math.max(last.endMs, endMs);
    else turn.speech.push({ startMs, endMs });
    if (lengthMs >= MIN_PAUSE_MS && !others.some((other) => touches(other, gap))) turn.pauses.push(gap);
    turn.endMs = Math.max(turn.endMs, endMs);
  }
  return turns;
}

function endsTurn(gap: { startMs: number; endMs: number }, others: readonly Stretch[]): boolean {
  if (gap.endMs - gap.startMs > MAX_PAUSE_MS) return true;
  return others.some(
    ({ startMs, endMs }) =>
      endMs - startMs >= MIN_FLOOR_MS &&
      startMs >= gap.startMs - OVERLAP_MS &&
      startMs < gap.endMs &&
      endMs > gap.startMs,
  );
}

function touches(a: { startMs: number; endMs: number }, b: { startMs: number; endMs: number }): boolean {
  return a.startMs < b.endMs && a.endMs > b.startMs;
}
