import type { CallMetrics } from '../../../session/record/call-history.js';

type Times = Pick<CallMetrics, 'utterance_latency' | 'turns'>;

/** Response times over a list of calls, in ms. */
export interface ListTimes {
  /** Number of answers, and of their calls. */
  answers: number;
  calls: number;
  /** Over the calls' medians and 95th percentiles, weighted by turns. */
  p50: number;
  p95: number;
}

/** Statistics of a list with each call's percentiles instead of its answers. Null = no answers. */
export function listTimes(calls: readonly { call_metrics: Times }[]): ListTimes | null {
  const known = calls.flatMap(({ call_metrics: { utterance_latency: times, turns } }) =>
    times === null || turns === 0 ? [] : [{ ...times, turns }],
  );
  const answers = known.reduce((sum, { turns }) => sum + turns, 0);
  if (answers === 0) return null;
  const at = (share: number, key: 'p50' | 'p95'): number =>
    shareOf(
      known.map((times) => ({ ms: times[key], turns: times.turns })),
      share,
    );
  return { answers, calls: known.length, p50: at(0.5, 'p50'), p95: at(0.95, 'p95') };
}

/** The quantile over all turns, with each call's figure weighted by its turns; 0 for none. */
export function shareOf(calls: readonly { ms: number; turns: number }[], share: number): number {
  let left = share * calls.reduce((sum, { turns }) => sum + turns, 0);
  for (const { ms, turns } of [...calls].sort((a, b) => a.ms - b.ms)) {
    left -= turns;
    if (left <= 1e-9) return ms;
  }
  return 0;
}
