import type { Labels } from './label-format.js';

/** One speaker's turn of a recording. Times in milliseconds. */
export interface LabelledTurn {
  speaker?: string;
  startMs: number;
  endMs: number;
  /** The speaker's own stretches of speech. */
  speech: { startMs: number; endMs: number }[];
  /** Silences inside it: nobody speaks, and the speaker goes on. */
  pauses: { startMs: number; endMs: number }[];
}

/** A silence that is shorter is part of the speech. */
const MIN_PAUSE_MS = 150;
/** A silence that is longer ends a turn, whoever speaks next. */
const MAX_PAUSE_MS = 1500;
/** Speech of somebody else that is shorter, or said while the speaker goes on, is an acknowledgement: no change of floor. */
const MIN_FLOOR_MS = 700;
/** How long before the end of somebody's speech the next speaker may begin to take the floor. */
const OVERLAP_MS = 500;

type Stretch = Labels['speech'][number];

/**
 * The turns in stretches of speech, for labels that do not name any (`.lab`, `.rttm`). A speaker's silence is
 *
 * - a pause, if nobody speaks in it and it is 150 to 1500 ms long;
 * - the end of the turn, if it is longer, or if somebody else begins in it, or up to 500 ms before it, to speak for
 *   700 ms or more;
 * - neither, if others only acknowledge: the turn goes on, and nothing is said of the silence.
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
