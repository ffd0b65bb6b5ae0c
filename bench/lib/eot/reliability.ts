import { calibrated, type Calibration, fitCalibration } from '../../../dist/providers/turn/calibration.js';
import type { ScoredTurn } from './rules.js';

/** A score and what became of its silence. */
export interface Sample {
  score: number;
  isOver: boolean;
}

export interface Reliability {
  calibration: Calibration;
  /** By calibrated probability, the silences between two of `EDGES`; empty ones are left out. */
  bins: { from: number; to: number; silences: number; probability: number; over: number }[];
  /** Mean square of probability less outcome; 0 is best, and what one probability for all would have. */
  brier: number;
  brierOfShare: number;
}

const EDGES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1];

/** The scores of all silences that last so long, at that time. */
export function samplesAt(turns: readonly ScoredTurn[], atMs: number): Sample[] {
  return turns.flatMap(({ silences }) =>
    silences.flatMap(({ label, scores }) => {
      const score = scores.find((one) => Math.abs(one.atMs - atMs) < 1)?.probability;
      return score === undefined ? [] : [{ score, isOver: label === 'eot' }];
    }),
  );
}

/** The calibration by some silences, and how far others bear it out. Null without both kinds. */
export function reliabilityOf(tuned: readonly Sample[], heldOut: readonly Sample[]): Reliability | null {
  const calibration = fitCalibration(tuned);
  if (calibration === null || heldOut.length === 0) return null;
  const judged = heldOut.map(({ score, isOver }) => {
    return { probability: calibrated(score, calibration), over: isOver ? 1 : 0 };
  });
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const share = mean(judged.map(({ over }) => over));
  const bins = EDGES.slice(1).flatMap((to, at) => {
    const from = EDGES[at] as number;
    const within = judged.filter(({ probability }) => probability >= from && (probability < to || to === 1));
    if (within.length === 0) return [];
    const [probability, over] = [mean(within.map((one) => one.probability)), mean(within.map((one) => one.over))];
    return [{ from, to, silences: within.length, probability, over }];
  });
  const brier = mean(judged.map(({ probability, over }) => (probability - over) ** 2));
  return { calibration, bins, brier, brierOfShare: share * (1 - share) };
}
