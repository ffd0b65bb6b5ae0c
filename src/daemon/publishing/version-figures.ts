import { median, wilson } from '../../eval/statistics.js';
import type { CallHistoryItem } from '../../session/record/call-history.js';
import { type CallFilter, CallPages } from '../../store/call-pages.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { isCompleted } from '../call-log/call-filter.js';

/** A share with its 95 % Wilson score interval. Without a case there is no rate. */
export interface Share {
  count: number;
  of: number;
  rate: number | null;
  low: number | null;
  high: number | null;
}

/** A mean or a median with its 95 % interval; null = there are too few values. */
export interface Average {
  count: number;
  value: number | null;
  low: number | null;
  high: number | null;
}

/** What became of the conversations with one version. */
export interface VersionFigures {
  version: number;
  /** Calls that have ended, also those that nobody answered. */
  calls: number;
  /** Those that came to a conversation: the figures below are about them, if they do not say otherwise. */
  conversations: number;
  /** False: there are more calls, and only the latest count. */
  isComplete: boolean;
  /** Calls by how they ended. */
  statuses: Record<string, number>;
  /** Of all calls. */
  completed: Share;
  /** Of all calls. */
  voicemail: Share;
  transferred: Share;
  /** Conversations in which a function failed. */
  toolErrors: Share;
  /** Answers that the user interrupted. */
  interruptions: Share;
  /** Seconds. */
  duration: Average;
  /** The median of the conversations' medians, ms. */
  responseP50: Average;
  /** The median of the conversations' 95th percentiles, ms. */
  responseP95: Average;
  /** Mean cost by the operator's prices. */
  cost: Average;
}

export const SHARES = ['completed', 'voicemail', 'transferred', 'toolErrors', 'interruptions'] as const;
export const AVERAGES = ['duration', 'responseP50', 'responseP95', 'cost'] as const;
export type FigureName = (typeof SHARES)[number] | (typeof AVERAGES)[number];

/** A figure of a version against the same of the first one. */
export interface FigureDifference {
  version: number;
  figure: FigureName;
  difference: number;
  /** Of the 95 % interval of the difference; null = for medians there is none. */
  low: number | null;
  high: number | null;
  /** Whether chance alone would rarely make such a difference (5 %). */
  isClear: boolean;
}

/** Calls that count of one version. */
export const MOST_CALLS = 2_000;
const PAGE = 100;
/** 97.5 % quantile of the normal distribution. */
const Z = 1.959964;
/** Fewer values give no interval of a mean. */
const LEAST = 5;

/** The figures of a version from the call log. */
export async function versionFigures(
  database: SqlDatabase,
  filter: CallFilter & { agentVersion: number },
): Promise<VersionFigures> {
  const pages = new CallPages(database);
  const items: CallHistoryItem[] = [];
  let beforeUs: number | null = null;
  let isComplete = false;
  while (items.length < MOST_CALLS && !isComplete) {
    const { calls, nextUs } = await pages.page(filter, PAGE, beforeUs);
    for (const { item, endedUs } of calls) if (endedUs !== null) items.push(item);
    isComplete = nextUs === null;
    beforeUs = nextUs;
  }
  return { ...figuresOf(items.slice(0, MOST_CALLS)), version: filter.agentVersion, isComplete };
}

/** @param items of calls that have ended */
export function figuresOf(items: readonly CallHistoryItem[]): Omit<VersionFigures, 'version' | 'isComplete'> {
  const statuses: Record<string, number> = {};
  for (const { call_status: status } of items) statuses[status] = (statuses[status] ?? 0) + 1;
  const held = items.filter(({ duration, call_status: status }) => duration > 0 || isCompleted(status));
  const sum = (valueOf: (item: CallHistoryItem) => number): number =>
    held.reduce((all, item) => all + valueOf(item), 0);
  const calls = items.length;
  const countOf = (list: readonly CallHistoryItem[], test: (item: CallHistoryItem) => boolean): Share =>
    share(list.filter(test).length, list.length);
  const latencies = held.flatMap(({ call_metrics: { utterance_latency: found } }) => found ?? []);
  return {
    calls,
    conversations: held.length,
    statuses,
    completed: countOf(items, ({ call_status: status }) => isCompleted(status)),
    voicemail: countOf(items, ({ call_status: status }) => status.startsWith('voicemail-')),
    transferred: countOf(held, ({ voip }) => (voip?.['transfer'] as { ok?: unknown } | null | undefined)?.ok === true),
    toolErrors: countOf(held, ({ call_metrics: { tool_errors: errors = 0 } }) => errors > 0),
    interruptions: share(
      sum(({ call_metrics: { interruptions = 0 } }) => interruptions),
      sum(({ call_metrics: { turns } }) => turns),
    ),
    duration: mean(held.map(({ duration }) => duration)),
    responseP50: medianOf(latencies.map(({ p50 }) => p50)),
    responseP95: medianOf(latencies.map(({ p95 }) => p95)),
    cost: mean(held.map(({ cost_breakdown: costs }) => costs.reduce((all, { credit }) => all + credit, 0))),
  };
}

/** How the other versions differ from the first one. */
export function differencesOf([first, ...others]: readonly VersionFigures[]): FigureDifference[] {
  if (first === undefined) return [];
  return others.flatMap((other) => [
    ...SHARES.flatMap((figure) => withName(other.version, figure, shareDifference(first[figure], other[figure]))),
    ...AVERAGES.flatMap((figure) => {
      const isMean = figure === 'duration' || figure === 'cost';
      const found = (isMean ? meanDifference : medianDifference)(first[figure], other[figure]);
      return withName(other.version, figure, found);
    }),
  ]);
}

type Difference = Omit<FigureDifference, 'version' | 'figure'>;

function withName(version: number, figure: FigureName, found: Difference | null): FigureDifference[] {
  return found === null ? [] : [{ version, figure, ...found }];
}

function share(count: number, of: number): Share {
  // An answer may be interrupted twice.
  const capped = Math.min(count, of);
  return of === 0 ? { count, of, rate: null, low: null, high: null } : { count, of, ...wilson(capped, of) };
}

/** The mean with its interval by the normal distribution. */
function mean(values: readonly number[]): Average {
  const count = values.length;
  if (count === 0) return { count, value: null, low: null, high: null };
  const value = values.reduce((all, each) => all + each, 0) / count;
  if (count < LEAST) return { count, value, low: null, high: null };
  const variance = values.reduce((all, each) => all + (each - value) ** 2, 0) / (count - 1);
  const half = Z * Math.sqrt(variance / count);
  return { count, value, low: value - half, high: value + half };
}

/** The median with its interval by order statistics (Conover, Practical Nonparametric Statistics, 3.2). */
function medianOf(values: readonly number[]): Average {
  const count = values.length;
  const value = median(values);
  const half = (Z * Math.sqrt(count)) / 2;
  const [from, to] = [Math.floor(count / 2 - half), Math.ceil(count / 2 + half)];
  const sorted = values.toSorted((a, b) => a - b);
  const isWide = from < 0 || to >= count;
  return { count, value, low: isWide ? null : (sorted[from] ?? null), high: isWide ? null : (sorted[to] ?? null) };
}

/** Newcombe's interval of the difference of two shares (Statistics in Medicine 17, 1998, method 10). */
function shareDifference(first: Share, other: Share): Difference | null {
  const { rate: p1, low: l1, high: u1 } = first;
  const { rate: p2, low: l2, high: u2 } = other;
  if (p1 === null || p2 === null || l1 === null || l2 === null || u1 === null || u2 === null) return null;
  const difference = p2 - p1;
  const low = difference - Math.hypot(p2 - l2, u1 - p1);
  const high = difference + Math.hypot(u2 - p2, p1 - l1);
  return { difference, low, high, isClear: low > 0 || high < 0 };
}

function meanDifference(first: Average, other: Average): Difference | null {
  if (first.value === null || other.value === null || first.low === null || other.low === null) return null;
  const difference = other.value - first.value;
  const half = Math.hypot(first.value - first.low, other.value - other.low);
  const [low, high] = [difference - half, difference + half];
  return { difference, low, high, isClear: low > 0 || high < 0 };
}

/** Medians whose intervals do not meet differ clearly. */
function medianDifference(first: Average, other: Average): Difference | null {
  if (first.value === null || other.value === null) return null;
  const known = first.low !== null && first.high !== null && other.low !== null && other.high !== null;
  const isClear = known && ((other.low ?? 0) > (first.high ?? 0) || (other.high ?? 0) < (first.low ?? 0));
  return { difference: other.value - first.value, low: null, high: null, isClear };
}
