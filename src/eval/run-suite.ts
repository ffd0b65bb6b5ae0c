import { ParleyError } from '../base/errors.js';
import { RealClock } from '../base/real-clock.js';
import { Engine } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import type { SessionReport } from '../session/record/session-report.js';
import { Embedder, type EmbeddingRoute } from '../tools/knowledge/embeddings.js';
import type { EvalAgent } from './agent.js';
import type { EvalModels } from './ask-model.js';
import { CallerVoices } from './call/caller-voices.js';
import { compared } from './compare.js';
import { userDeciders } from './expectations/deciders.js';
import type { CaseResult, CaseRun, SuiteResult } from './result.js';
import { runCase, type RunContext } from './run-case.js';
import { wilson } from './statistics.js';
import { type LoadedSuite, withDefaults } from './suite/load-suite.js';
import type { EvalCase, EvalMode } from './suite/suite-schema.js';

export interface RunSuiteOptions extends LoadedSuite {
  agent: EvalAgent;
  /** A second agent over the same cases and seeds. Default none. */
  against?: EvalAgent | null | undefined;
  /** Default both; cases that are not for a mode are left out of it. */
  modes?: readonly EvalMode[] | undefined;
  /** Replaces the cases' own. */
  runs?: number | undefined;
  /** Names or tags of cases. Default all. */
  only?: readonly string[] | undefined;
  /** Calls side by side. Default 1. */
  concurrency?: number | undefined;
  /** Options of the engines that hold the calls. Default: the embedded providers. */
  engine?: EngineOptions | undefined;
  /** The model of `said_like`. Default none. */
  embedding?: EmbeddingRoute | null | undefined;
  /** Where recordings and event logs go. Default nowhere. */
  keep?: RunContext['keep'] | undefined;
  /** The cost of a call. Default: not known. */
  costOf?: ((report: SessionReport) => number | null) | undefined;
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

interface Job {
  one: EvalCase;
  mode: EvalMode;
  run: number;
  isOther: boolean;
}

/**
 * Runs a suite against an agent, and against another one where there is one.
 * @throws ParleyError CONFIG_INVALID where no case is left; the signal's reason when it is aborted
 */
export async function runSuite(options: RunSuiteOptions): Promise<SuiteResult> {
  const { suite, agent, against = null, signal, onRun, startUnixMs } = options;
  const clock = new RealClock();
  const fromMs = clock.nowMs();
  const cases = chosenCases(options);
  const jobs = jobsOf(cases, options);
  const helper = new Engine({ ...options.engine, clock });
  const voices = new CallerVoices(helper, signal);
  const models: EvalModels = { clock, complete: (request) => helper.complete(request) };
  const embedder = options.embedding == null ? null : new Embedder(options.embedding, clock);
  const results = new Map<Job, CaseRun>();
  const progress: SuiteProgress = { done: 0, total: jobs.length, failed: 0 };
  const contextOf = (tested: EvalAgent): RunContext => ({
    agent: tested,
    folder: options.folder,
    engine: options.engine ?? {},
    voices,
    models,
    deciders: userDeciders({ suite, folder: options.folder, models, embedder }),
    personaModel: suite.persona_model ?? null,
    costOf: options.costOf ?? (() => null),
    keep: options.keep ?? null,
    signal,
  });
  const queue = [...jobs];
  const lane = async (): Promise<void> => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      signal.throwIfAborted();
      const tested = job.isOther && against !== null ? against : agent;
      const result = await runCase(job.one, job.mode, job.run, contextOf(tested));
      results.set(job, result);
      progress.done++;
      if (!result.passed) progress.failed++;
      onRun?.(result, job.one, { ...progress });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(options.concurrency ?? 1, jobs.length) }, lane));
  } finally {
    await Promise.all([helper.close(), embedder?.close()]);
  }
  const resultsOf = (isOther: boolean): CaseResult[] =>
    collected(
      jobs.filter((job) => job.isOther === isOther),
      results,
    );
  const own = resultsOf(false);
  return {
    suite: suite.name,
    agent: agent.name,
    startedAt: new Date(startUnixMs).toISOString(),
    tookMs: Math.round(clock.nowMs() - fromMs),
    cases: own,
    passed: own.every(({ passed }) => passed),
    comparison: against === null ? null : compared(own, resultsOf(true), against.name),
  };
}

/** @throws ParleyError CONFIG_INVALID where nothing is left */
function chosenCases({ suite, only = [] }: RunSuiteOptions): readonly EvalCase[] {
  const chosen = suite.cases.filter(
    ({ name, tags = [] }) => only.length === 0 || only.some((wanted) => wanted === name || tags.includes(wanted)),
  );
  if (chosen.length > 0) return chosen.map((one) => withDefaults(suite, one));
  throw new ParleyError('CONFIG_INVALID', { reason: `the suite has no case or tag ${only.join(', ')}` });
}

function jobsOf(cases: readonly EvalCase[], { modes = ['text', 'voice'], runs, against }: RunSuiteOptions): Job[] {
  const sides = against == null ? [false] : [false, true];
  return cases.flatMap((one) =>
    modes
      .filter((mode) => one.modes === undefined || one.modes.includes(mode))
      .flatMap((mode) =>
        Array.from({ length: runs ?? one.runs ?? 1 }, (_, run) =>
          sides.map((isOther): Job => ({ one, mode, run, isOther })),
        ).flat(),
      ),
  );
}

/** The runs by case and mode, in the suite's order. */
function collected(jobs: readonly Job[], results: ReadonlyMap<Job, CaseRun>): CaseResult[] {
  const groups = new Map<string, Job[]>();
  for (const job of jobs) {
    const key = `${job.mode} ${job.one.name}`;
    groups.set(key, [...(groups.get(key) ?? []), job]);
  }
  return [...groups.values()].map((group): CaseResult => {
    const { one, mode } = group[0] as Job;
    const runs = group.flatMap((job) => results.get(job) ?? []);
    const passes = runs.filter(({ passed }) => passed).length;
    const passRate = wilson(passes, runs.length);
    const needed = one.pass_rate ?? 1;
    return { name: one.name, mode, runs, passes, passRate, needed, passed: passRate.rate >= needed };
  });
}
