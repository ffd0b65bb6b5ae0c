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
/** Keeps the line near the scores themselves where there are few labels, or scores that separate them. */
const RIDGE = 1;

export function calibrated(score: number, { slope, intercept }: Calibration): number {
  return sigmoid(slope * logit(score) + intercept);
}

/** The line of the greatest likelihood, by Newton's method. Null without labels of both kinds. */
export function fitCalibration(samples: readonly { score: number; isOver: boolean }[]): Calibration | null {
  const ends = samples.filter(({ isOver }) => isOver).length;
  if (ends === 0 || ends === samples.length) return null;
  let line: Calibration = { slope: 1, intercept: 0 };
  for (let round = 0; round < 100; round++) {
    const { slope, intercept } = newtonStep(samples, line);
    const before = lossOf(samples, line);
    let next = line;
    // Far from the best line the whole step may lead away from it.
    for (let share = 1; share > 1e-3; share /= 2) {
      next = { slope: line.slope - share * slope, intercept: line.intercept - share * intercept };
      if (lossOf(samples, next) <= before) break;
    }
    const change = Math.abs(next.slope - line.slope) + Math.abs(next.intercept - line.intercept);
    line = next;
    if (change < 1e-9) break;
  }
  return line;
}

function newtonStep(samples: readonly { score: number; isOver: boolean }[], line: Calibration): Calibration {
  let [gIntercept, gSlope] = [RIDGE * line.intercept, RIDGE * (line.slope - 1)];
  let [h00, h01, h11] = [RIDGE, 0, RIDGE];
  for (const { score, isOver } of samples) {
    const x = logit(score);
    const p = calibrated(score, line);
    const error = p - (isOver ? 1 : 0);
    const weight = p * (1 - p);
    gIntercept += error;
    gSlope += error * x;
    h00 += weight;
    h01 += weight * x;
    h11 += weight * x * x;
  }
  const determinant = h00 * h11 - h01 * h01;
  return {
    intercept: (h11 * gIntercept - h01 * gSlope) / determinant,
    slope: (h00 * gSlope - h01 * gIntercept) / determinant,
  };
}

function lossOf(samples: readonly { score: number; isOver: boolean }[], line: Calibration): number {
  const prior = (RIDGE / 2) * ((line.slope - 1) ** 2 + line.intercept ** 2);
  return samples.reduce((sum, { score, isOver }) => {
    const p = calibrated(score, line);
    return sum - Math.log(Math.max(1e-12, isOver ? p : 1 - p));
  }, prior);
}

function logit(score: number): number {
  const inside = Math.min(1 - LEAST, Math.max(LEAST, score));
  return Math.log(inside / (1 - inside));
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
