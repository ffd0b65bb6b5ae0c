import type { CallMetrics } from '../../../session/call-history.js';

type Times = Pick<CallMetrics, 'utterance_latency' | 'turns'>;

/** Response times over a list of calls, in ms. */
export interface ListTimes {
  /** Of how many answers, in how many calls. */
  answers: number;
  calls: number;
  /** Of the calls' medians and of their 95th percentiles, each call counted once for each of its turns. */
  p50: number;
  p95: number;
}

/** What can be said of a list that has each call's percentiles and not its answers. Null = nobody was answered. */
export function listTimes(calls: readonly { call_metrics: Times }[]): ListTimes | null {
  const known = calls.flatMap(({ call_metrics: { utterance_latency: times, turns } }) =>
    times === null || turns === 0 ? [] : [{ ...times, turns }],
  );
  const answers = known.reduce((sum, { turns }) => sum + turns, 0);
  if (answers === 0) return null;
  const at = (share: number, key: 'p50' | 'p95'): number => {
    let left = share * answers;
    for (const time of [...known].sort((a, b) => a[key] - b[key])) {
      left -= time.turns;
      if (left <= 1e-9) return time[key];
    }
    return 0;
  };
  return { answers, calls: known.length, p50: at(0.5, 'p50'), p95: at(0.95, 'p95') };
}
