/**
 * A model's own scores are rarely probabilities. Platt scaling (Platt, 1999) makes them so: the logit of the probability is
 * a line over the logit of the score.
 */
export interface Calibration {
  slope: number;
  intercept: number;
}

/** Scores nearer to 0 and 1 say no more. */
const LEAST = 1e-4;
/** Keeps the line finite where the scores separate the labels. */
const RIDGE = 1e-3;

export function calibrated(score: number, { slope, intercept }: Calibration): number {
  return sigmoid(slope * logit(score) + intercept);
}

/** The line of the greatest likelihood, by Newton's method. Null without labels of both kinds. */
export function fitCalibration(samples: readonly { score: number; isOver: boolean }[]): Calibration | null {
  const ends = samples.filter(({ isOver }) => isOver).length;
  if (ends === 0 || ends === samples.length) return null;
  let [slope, intercept] = [1, 0];
  for (let round = 0; round < 50; round++) {
    let [g0, g1, h00, h01, h11] = [0, RIDGE * (slope - 1), RIDGE, 0, RIDGE];
    for (const { score, isOver } of samples) {
      const x = logit(score);
      const p = sigmoid(slope * x + intercept);
      const error = p - (isOver ? 1 : 0);
      const weight = p * (1 - p);
      g0 += error;
      g1 += error * x;
      h00 += weight;
      h01 += weight * x;
      h11 += weight * x * x;
    }
    const determinant = h00 * h11 - h01 * h01;
    const [down, along] = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant];
    intercept -= down;
    slope -= along;
    if (Math.abs(down) + Math.abs(along) < 1e-9) break;
  }
  return { slope, intercept };
}

function logit(score: number): number {
  const inside = Math.min(1 - LEAST, Math.max(LEAST, score));
  return Math.log(inside / (1 - inside));
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
