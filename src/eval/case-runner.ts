import type { RealClock } from '../base/real-clock.js';
import { Engine } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import { Embedder, type EmbeddingRoute } from '../tools/knowledge/embeddings.js';
import type { EvalAgent } from './agent.js';
import type { EvalModels } from './ask-model.js';
import { CallerVoices } from './call/caller-voices.js';
import { userDeciders } from './expectations/deciders.js';
import type { EvalPrices } from './model-meter.js';
import type { CaseRun } from './result.js';
import { runCase, type RunContext } from './run-case.js';
import { type LoadedSuite, withDefaults } from './suite/load-suite.js';
import type { EvalMode } from './suite/suite-schema.js';

/** One call to hold: a case, by its index in the suite, with the run's number and the agent's. */
export interface EvalJob {
  caseIndex: number;
  mode: EvalMode;
  run: number;
  /** Index in `agents`. */
  agent: number;
}

/** Holds the calls of a suite. */
export interface CaseRunner {
  /** Never rejects but with the signal's reason: what goes wrong is the run's `error`. */
  run(job: EvalJob): Promise<CaseRun>;
  /** May be called twice. */
  close(): Promise<void>;
}

export interface CaseRunnerOptions extends LoadedSuite {
  agents: readonly EvalAgent[];
  /** Options of the engines that hold the calls. Default: the embedded providers. */
  engine?: EngineOptions | undefined;
  /** Where recordings and event logs go. Default nowhere. */
  keep?: RunContext['keep'] | undefined;
  /** The embedding model of `said_like`. Default none. */
  embedding?: EmbeddingRoute | null | undefined;
  /** Default: costs are not known. */
  prices?: EvalPrices | null | undefined;
  signal: AbortSignal;
}

/** Holds the calls in this thread. */
export class LocalCaseRunner implements CaseRunner {
  readonly #options: CaseRunnerOptions;
  readonly #helper: Engine;
  readonly #embedder: Embedder | null;
  readonly #context: Omit<RunContext, 'agent'>;

  /** @param clock of what takes real time: callers' voices, models of judges and personas */
  constructor(options: CaseRunnerOptions, clock: RealClock) {
    const { suite, folder, engine = {}, keep = null, prices = null, signal } = options;
    this.#options = options;
    const helper = new Engine({ ...engine, clock });
    this.#helper = helper;
    const models: EvalModels = { clock, complete: (request) => helper.complete(request) };
    this.#embedder = options.embedding == null ? null : new Embedder(options.embedding, clock);
    this.#context = {
      folder,
      engine,
      voices: new CallerVoices(helper, signal),
      models,
      deciders: userDeciders({ suite, folder, embedder: this.#embedder }),
      personaModel: suite.persona_model ?? null,
      prices,
      keep,
      signal,
    };
  }

  run({ caseIndex, mode, run, agent }: EvalJob): Promise<CaseRun> {
    const { suite, agents } = this.#options;
    const [one, tested] = [suite.cases[caseIndex], agents[agent]];
    if (one === undefined || tested === undefined) throw new RangeError('there is no such case or agent');
    return runCase(withDefaults(suite, one), mode, run, { ...this.#context, agent: tested });
  }

  async close(): Promise<void> {
    await Promise.all([this.#helper.close(), this.#embedder?.close()]);
  }
}
