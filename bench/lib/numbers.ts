import { nearestRank } from '../../dist/session/record/session-metrics.js';

export { markdownTable } from '../../dist/benchmark/report.js';

/** The value below which `share` (above 0, up to 1) of the values lie, by nearest rank; NaN where there are none. */
export function quantile(values: readonly number[], share: number): number {
  return values.length === 0 ? Number.NaN : nearestRank(values)(share);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
