/**
 * The rules of eot-bench (github.com/livekit/eot-bench, README and metric defaults, 2026): a turn is a row of silences, of
 * which the last is its end (`eot`) and all others are pauses (`hold`). A detector scores each silence as it grows; the
 * policy on top has three knobs, and what counts is the best that any setting of them reaches within a budget.
 */

/** A silence of a turn, with a detector's scores. Times in ms from its start. */
export interface ScoredSilence {
  label: 'hold' | 'eot';
  /** Its place among all silences of the turn, with those too short to be scored. */
  index: number;
  durationMs: number;
  /** In order; the probability that the turn is over, known at that time. */
  scores: readonly { atMs: number; probability: number }[];
}

export interface ScoredTurn {
  id: string;
  silences: readonly ScoredSilence[];
}

/** The turn is over at a probability above `threshold`, but not before `delayMs`, and at `timeoutMs` in any case. */
export interface Policy {
  threshold: number;
  delayMs: number;
  timeoutMs: number;
}

/** What a policy does in each turn. */
export interface Outcome {
  policy: Policy;
  /** Pauses that end the turn. */
  cuts: Uint16Array;
  /** From the true end to the decision. */
  latencyMs: Float32Array;
  timeouts: Uint8Array;
}

/** All policies of a detector over the same turns. */
export interface Sweep {
  /** The pauses of each turn that count. */
  holds: Uint16Array;
  outcomes: readonly Outcome[];
}

export interface OperatingPoint {
  policy: Policy;
  cutoffRate: number;
  meanLatencyMs: number;
  timeoutRate: number;
}

/** The published grids. */
const THRESHOLDS = Array.from({ length: 101 }, (_, index) => index / 100);
const DELAYS_MS = steps(200, 1000, 100);
const TIMEOUTS_MS = steps(1000, 3500, 500);
/** The silence of the baseline. */
const SILENCES_MS = steps(200, 3500, 100);
const HOLD_MS = { least: 200, most: 5000 };
/** Shorter silences are not scored. */
export const MIN_SILENCE_MS = 100;
/** Times and durations come from seconds in floating point. */
const EPSILON_MS = 1e-3;

export const LATENCY_BUDGETS_MS = [300, 600];
export const CUTOFF_BUDGETS = [0.05, 0.1];

/** All settings of the three knobs. Turns without an end are left out. */
export function sweepOf(turns: readonly ScoredTurn[], firstDelayMs = 0): Sweep {
  const counted = countedTurns(turns);
  const delays = DELAYS_MS.filter((ms) => ms >= firstDelayMs - EPSILON_MS);
  const outcomes: Outcome[] = [];
  let before = '';
  for (const threshold of THRESHOLDS) {
    const fires = counted.map(({ holds, end }) => [...holds, end].map((silence) => crossingMs(silence, threshold)));
    const now = fires.join();
    if (now === before) continue; // the same decisions as at the threshold before
    before = now;
    for (const delayMs of delays) {
      for (const timeoutMs of TIMEOUTS_MS) outcomes.push(outcomeOf(counted, fires, { threshold, delayMs, timeoutMs }));
    }
  }
  return { holds: Uint16Array.from(counted, ({ holds }) => holds.length), outcomes };
}

/** A turn is over after so much silence: what every detector is measured against. */
export function baselineOf(turns: readonly ScoredTurn[]): Sweep {
  const counted = countedTurns(turns);
  const never = counted.map(({ holds }) => [...holds, null].map(() => Infinity));
  const outcomes = SILENCES_MS.map((ms) => outcomeOf(counted, never, { threshold: 1, delayMs: ms, timeoutMs: ms }));
  return { holds: Uint16Array.from(counted, ({ holds }) => holds.length), outcomes };
}

/**
 * The fewest false cut-offs at a mean latency of at most `budgetMs`, null = no setting reaches it.
 *
 * @param turns the turns that count, by index; one may count several times
 */
export function fewestCutoffs(sweep: Sweep, budgetMs: number, turns = allOf(sweep)): OperatingPoint | null {
  const within = pointsOf(sweep, turns).filter(({ meanLatencyMs }) => meanLatencyMs <= budgetMs + EPSILON_MS);
  return least(within, (point) => [point.cutoffRate, point.meanLatencyMs]);
}

/** The least mean latency at a share of at most `budget` false cut-offs, null = no setting reaches it. */
export function leastLatency(sweep: Sweep, budget: number, turns = allOf(sweep)): OperatingPoint | null {
  const within = pointsOf(sweep, turns).filter(({ cutoffRate }) => cutoffRate <= budget + 1e-9);
  return least(within, (point) => [point.meanLatencyMs, point.cutoffRate]);
}

/** A policy of the sweep, over other turns than those it was chosen by. */
export function pointOf(sweep: Sweep, policy: Policy, turns = allOf(sweep)): OperatingPoint | null {
  // Thresholds with the decisions of a lower one are left out of the sweep.
  const outcome = sweep.outcomes.findLast(
    ({ policy: { threshold, delayMs, timeoutMs } }) =>
      threshold <= policy.threshold && delayMs === policy.delayMs && timeoutMs === policy.timeoutMs,
  );
  return outcome === undefined ? null : summary(sweep, outcome, turns);
}

/** The settings that no other one beats in both figures, by latency. */
export function frontier(sweep: Sweep): OperatingPoint[] {
  let best = Infinity;
  return pointsOf(sweep, allOf(sweep))
    .sort((a, b) => a.meanLatencyMs - b.meanLatencyMs || a.cutoffRate - b.cutoffRate)
    .filter(({ cutoffRate }) => {
      const better = cutoffRate < best - 1e-9;
      best = Math.min(best, cutoffRate);
      return better;
    });
}

/**
 * The interval that holds 95 % of a figure's values over turns drawn anew, with replacement; the knobs are set anew each
 * time, as for the figure itself.
 *
 * @param figure of a sweep over these turns, null = not reached
 * @returns null where fewer than 95 % of the draws have the figure
 */
export function interval(
  sweep: Sweep,
  figure: (turns: Uint32Array) => number | null,
  random: () => number,
  rounds = 300,
): [low: number, high: number] | null {
  const size = sweep.holds.length;
  const values: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const value = figure(Uint32Array.from({ length: size }, () => Math.floor(random() * size)));
    if (value !== null) values.push(value);
  }
  if (values.length < 0.95 * rounds) return null;
  values.sort((a, b) => a - b);
  const at = (share: number): number =>
    values[Math.min(values.length - 1, Math.floor(share * values.length))] as number;
  return [at(0.025), at(0.975)];
}

interface CountedTurn {
  holds: readonly ScoredSilence[];
  end: ScoredSilence;
}

function countedTurns(turns: readonly ScoredTurn[]): CountedTurn[] {
  return turns.flatMap(({ silences }) => {
    const end = silences.at(-1);
    if (end?.label !== 'eot') return [];
    const holds = silences.filter(
      ({ label, durationMs }) =>
        label === 'hold' && durationMs >= HOLD_MS.least - EPSILON_MS && durationMs <= HOLD_MS.most + EPSILON_MS,
    );
    return [{ holds, end }];
  });
}

function crossingMs({ scores }: ScoredSilence, threshold: number): number {
  return scores.find(({ probability }) => probability > threshold)?.atMs ?? Infinity;
}

/** @param fires when the score crossed the threshold, of each turn's pauses and its end; Infinity = never */
function outcomeOf(turns: readonly CountedTurn[], fires: readonly (readonly number[])[], policy: Policy): Outcome {
  const { delayMs, timeoutMs } = policy;
  const cuts = new Uint16Array(turns.length);
  const latencyMs = new Float32Array(turns.length);
  const timeouts = new Uint8Array(turns.length);
  for (const [at, { holds }] of turns.entries()) {
    const own = fires[at] ?? [];
    const decidedMs = (index: number): number => Math.min(timeoutMs, Math.max(delayMs, own[index] ?? Infinity));
    cuts[at] = holds.filter(({ durationMs }, index) => durationMs > decidedMs(index) + EPSILON_MS).length;
    latencyMs[at] = decidedMs(holds.length);
    timeouts[at] = Math.max(delayMs, own[holds.length] ?? Infinity) > timeoutMs + EPSILON_MS ? 1 : 0;
  }
  return { policy, cuts, latencyMs, timeouts };
}

function pointsOf(sweep: Sweep, turns: Uint32Array): OperatingPoint[] {
  return sweep.outcomes.map((outcome) => summary(sweep, outcome, turns));
}

function summary({ holds }: Sweep, outcome: Outcome, turns: Uint32Array): OperatingPoint {
  let [pauses, cuts, latency, timeouts] = [0, 0, 0, 0];
  for (const turn of turns) {
    pauses += holds[turn] as number;
    cuts += outcome.cuts[turn] as number;
    latency += outcome.latencyMs[turn] as number;
    timeouts += outcome.timeouts[turn] as number;
  }
  return {
    policy: outcome.policy,
    cutoffRate: pauses === 0 ? 0 : cuts / pauses,
    meanLatencyMs: latency / turns.length,
    timeoutRate: timeouts / turns.length,
  };
}

function least(
  points: readonly OperatingPoint[],
  by: (point: OperatingPoint) => [number, number],
): OperatingPoint | null {
  let best: OperatingPoint | null = null;
  for (const point of points) {
    const [first, second] = by(point);
    const [bestFirst, bestSecond] = best === null ? [Infinity, Infinity] : by(best);
    if (first < bestFirst - 1e-9 || (Math.abs(first - bestFirst) <= 1e-9 && second < bestSecond)) best = point;
  }
  return best;
}

function allOf({ holds }: Sweep): Uint32Array {
  return Uint32Array.from(holds.keys());
}

function steps(from: number, to: number, by: number): number[] {
  return Array.from({ length: Math.round((to - from) / by) + 1 }, (_, index) => from + index * by);
}
