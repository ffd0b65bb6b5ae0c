import { ParleyError } from '../base/errors.js';
import { RealClock } from '../base/real-clock.js';
import type { EngineOptions } from '../engine/options.js';
import type { EvalAgent } from './agent.js';
import { type CaseRunner, type CaseRunnerOptions, type EvalJob, LocalCaseRunner } from './case-runner.js';
import type { CaseResult, CaseRun, SuiteResult, ComparedCase, Comparison } from './result.js';
import type { RunContext } from './run-case.js';
import { wilson, mcNemar, median } from './statistics.js';
import type { LoadedSuite } from './suite/load-suite.js';
import type { EvalCase, EvalMode, EvalSuite } from './suite/suite-schema.js';

export interface SuiteSelection {
  /** Default both; cases that are not for a mode are left out of it. */
  modes?: readonly EvalMode[] | undefined;
  /** Replaces the cases' own. */
  runs?: number | undefined;
  /** Names or tags of cases. Default all. */
  only?: readonly string[] | undefined;
}

export interface RunSuiteOptions extends LoadedSuite, SuiteSelection {
  agent: EvalAgent;
  /** A second agent over the same cases and seeds. Default none. */
  against?: EvalAgent | null | undefined;
  /** Calls side by side. Default 1. */
  concurrency?: number | undefined;
  /** Options of the engines that hold the calls. Default: the embedded providers. */
  engine?: EngineOptions | undefined;
  /** Where recordings and event logs go. Default nowhere. */
  keep?: RunContext['keep'] | undefined;
  /** The embedding model of `said_like`. Default none. */
  embedding?: CaseRunnerOptions['embedding'] | undefined;
  /** Default: costs are not known. A `runner` has its own, and only the unit of these counts. */
  prices?: CaseRunnerOptions['prices'] | undefined;
  /** Holds the calls; the caller closes it. Default: this thread does. */
  runner?: CaseRunner | undefined;
  /** Called when a run is over. */
  onRun?: ((run: CaseRun, one: EvalCase, progress: SuiteProgress) => void) | undefined;
  /** When the suite starts, in ms since 1970. */
  startUnixMs: number;
  signal: AbortSignal;
}

export interface SuiteProgress {
  done: number;
  total: number;
  failed: number;
}

/**
 * Runs a suite against an agent, and against another one where there is one.
 * @throws ParleyError CONFIG_INVALID where no case is left; the signal's reason when it is aborted
 */
export async function runSuite(options: RunSuiteOptions): Promise<SuiteResult> {
  const { suite, agent, against = null, signal, onRun, startUnixMs } = options;
  const clock = new RealClock();
  const fromMs = clock.nowMs();
  const agents = against === null ? [agent] : [agent, against];
  const jobs = jobsOf(suite, agents.length, options);
  const runner = options.runner ?? new LocalCaseRunner({ ...options, agents }, clock);
  const results = new Map<EvalJob, CaseRun>();
  const progress: SuiteProgress = { done: 0, total: jobs.length, failed: 0 };
  const queue = [...jobs];
  const lane = async (): Promise<void> => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      signal.throwIfAborted();
      const result = await runner.run(job);
      results.set(job, result);
      progress.done++;
      if (!result.passed) progress.failed++;
      onRun?.(result, suite.cases[job.caseIndex] as EvalCase, { ...progress });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(options.concurrency ?? 1, jobs.length) }, lane));
  } finally {
    if (options.runner === undefined) await runner.close();
  }
  const resultsOf = (index: number): CaseResult[] =>
    collected(
      suite,
      jobs.filter((job) => job.agent === index),
      results,
    );
  const own = resultsOf(0);
  const result: SuiteResult = {
    suite: suite.name,
    agent: agent.name,
    startedAt: new Date(startUnixMs).toISOString(),
    tookMs: Math.round(clock.nowMs() - fromMs),
    cases: own,
    passed: own.every(({ passed }) => passed),
    comparison: against === null ? null : compared(own, resultsOf(1), against.name),
  };
  if (options.prices != null) result.costUnit = options.prices.unit;
  return result;
}

/**
 * The calls that a selection of a suite's cases takes; pairs of agents with the same seed come one after the other.
 * @throws ParleyError CONFIG_INVALID where no case is left
 */
function jobsOf(suite: EvalSuite, agents: number, { modes, runs, only = [] }: SuiteSelection): EvalJob[] {
  const isChosen = ({ name, tags = [] }: EvalCase): boolean =>
    only.length === 0 || only.some((wanted) => wanted === name || tags.includes(wanted));
  const jobs = suite.cases.flatMap((one, caseIndex): EvalJob[] => {
    if (!isChosen(one)) return [];
    const count = runs ?? one.runs ?? suite.defaults?.runs ?? 1;
    return (modes ?? BOTH)
      .filter((mode) => one.modes === undefined || one.modes.includes(mode))
      .flatMap((mode) =>
        Array.from({ length: count * agents }, (_, at) => ({
          caseIndex,
          mode,
          run: Math.floor(at / agents),
          agent: at % agents,
        })),
      );
  });
  if (jobs.length > 0) return jobs;
  const wanted = only.length === 0 ? 'for this mode' : `called or tagged ${only.join(', ')}`;
  throw new ParleyError('CONFIG_INVALID', { reason: `the suite has no case ${wanted}` });
}

const BOTH: readonly EvalMode[] = ['text', 'voice'];

/** The runs by case and mode, in the suite's order. */
function collected(suite: EvalSuite, jobs: readonly EvalJob[], results: ReadonlyMap<EvalJob, CaseRun>): CaseResult[] {
  const groups = new Map<string, EvalJob[]>();
  for (const job of jobs) {
    const key = `${job.mode} ${String(job.caseIndex)}`;
    groups.set(key, [...(groups.get(key) ?? []), job]);
  }
  return [...groups.values()].map((group): CaseResult => {
    const { caseIndex, mode } = group[0] as EvalJob;
    const { name, pass_rate: own } = suite.cases[caseIndex] as EvalCase;
    const runs = group.flatMap((job) => results.get(job) ?? []);
    const passes = runs.filter(({ passed }) => passed).length;
    const passRate = wilson(passes, runs.length);
    const needed = own ?? suite.defaults?.pass_rate ?? 1;
    return { name, mode, runs, passes, passRate, needed, passed: passRate.rate >= needed };
  });
}

/**
 * Two agents over the same cases, paired by case, mode and seed.
 * @param name the other agent's
 */
export function compared(own: readonly CaseResult[], other: readonly CaseResult[], name: string): Comparison {
  const counts = { onlyThis: 0, onlyOther: 0, both: 0, neither: 0 };
  const cases = own.flatMap((one): ComparedCase[] => {
    const pair = other.find((it) => it.name === one.name && it.mode === one.mode);
    if (pair === undefined) return [];
    for (const [index, run] of one.runs.entries()) {
      const passes = [run.passed, pair.runs[index]?.passed === true] as const;
      if (passes[0] && passes[1]) counts.both++;
      else if (passes[0]) counts.onlyThis++;
      else if (passes[1]) counts.onlyOther++;
      else counts.neither++;
    }
    return [comparedCase(one, pair)];
  });
  return { against: name, cases, ...counts, pValue: mcNemar(counts.onlyThis, counts.onlyOther) };
}

function comparedCase(own: CaseResult, other: CaseResult): ComparedCase {
  const times = ({ runs }: CaseResult): number | null => median(runs.flatMap(({ metrics }) => metrics.responseMs));
  return {
    name: own.name,
    mode: own.mode,
    passes: own.passes,
    otherPasses: other.passes,
    runs: own.runs.length,
    responseMs: times(own),
    otherResponseMs: times(other),
    differences: differences(own, other),
    other,
  };
}

/** The expectations that one of the two meets more often. */
function differences(own: CaseResult, other: CaseResult): string[] {
  const met = ({ runs }: CaseResult): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { expectations } of runs) {
      for (const { expected, outcome } of expectations) {
        counts.set(expected, (counts.get(expected) ?? 0) + (outcome === 'pass' ? 1 : 0));
      }
    }
    return counts;
  };
  const [mine, theirs] = [met(own), met(other)];
  const count = own.runs.length;
  return [...new Set([...mine.keys(), ...theirs.keys()])].flatMap((expected) => {
    const [here, there] = [mine.get(expected) ?? 0, theirs.get(expected) ?? 0];
    return here === there
      ? []
      : [`${expected}: met in ${String(here)} of ${String(count)} runs, by the other in ${String(there)}`];
  });
}
