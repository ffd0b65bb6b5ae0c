import type { TurnMetrics } from './turn-metrics.js';

/** Milliseconds. */
export interface Percentiles {
  avg: number;
  p50: number;
  p95: number;
  p99: number;
}

/** The stages of an answer that are measured, as TurnMetrics names them. */
const STAGES = ['responseMs', 'endOfTurnMs', 'llmFirstMs', 'firstSentenceMs', 'ttsFirstMs'] as const;

/** How the times of each stage are spread over a session's turns; null where no turn had the stage. */
export type LatencySummary = Record<(typeof STAGES)[number], Percentiles | null>;

export function latencySummary(turns: readonly TurnMetrics[]): LatencySummary {
  const summary = STAGES.map((stage) => [stage, percentiles(turns.flatMap((turn) => turn[stage] ?? []))] as const);
  return Object.fromEntries(summary) as LatencySummary;
}

/** Average and percentiles by nearest rank, so that each percentile is a value that occurred. Null of nothing. */
export function percentiles(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null;
  const at = nearestRank(values);
  const avg = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { avg, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Quantiles by nearest rank, of one value at least: from a share above 0 and up to 1 to the value. */
export function nearestRank(values: readonly number[]): (share: number) => number {
  const sorted = [...values].sort((a, b) => a - b);
  return (share) => sorted[Math.ceil(share * sorted.length) - 1] as number;
}
