/** 97.5 % quantile of the normal distribution, for intervals of 95 %. */
const Z = 1.959964;

/**
 * The share of successes with its 95 % Wilson score interval (Wilson, 1927), 0..1.
 * @param count at least 1
 */
export function wilson(successes: number, count: number): { rate: number; low: number; high: number } {
  const rate = successes / count;
  const square = Z * Z;
  const middle = (rate + square / (2 * count)) / (1 + square / count);
  const half = (Z / (1 + square / count)) * Math.sqrt((rate * (1 - rate)) / count + square / (4 * count * count));
  return { rate, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/**
 * Exact McNemar test, two-sided: the probability that pairs which only one side passed split at least as unevenly by
 * chance.
 * @param onlyFirst pairs that only the first passed
 * @returns 0..1; 1 where no pair differs
 */
export function mcNemar(onlyFirst: number, onlySecond: number): number {
  const count = onlyFirst + onlySecond;
  const fewer = Math.min(onlyFirst, onlySecond);
  // Sums of binomial coefficients, in logarithms, so that large counts do not overflow.
  let logTerm = -count * Math.LN2;
  let tail = 0;
  for (let k = 0; k <= fewer; k++) {
    tail += Math.exp(logTerm);
    logTerm += Math.log((count - k) / (k + 1));
  }
  return Math.min(1, 2 * tail);
}

/** Null = the list is empty. */
export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return null;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? null) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
