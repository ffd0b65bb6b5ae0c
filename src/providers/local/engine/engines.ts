import { RealClock } from '../../../base/real-clock.js';
import type { Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { EngineProcess } from './engine-process.js';
import { LocalModels } from '../local-models.js';
import type { LocalModel } from '../model-facts.js';

/** Options of every provider of local models. */
export interface LocalEnginesOptions {
  /** Default: none; no model is available. */
  models?: LocalModels | null | undefined;
  /** Timeout for loading a model, in milliseconds. Default 60,000. */
  loadTimeoutMs?: number;
  /** Entry point of the engine processes. Default: the package's own; tests replace it with a faulty one. */
  processEntry?: URL;
  /** Clock for loading; requests bring their own. Default: real time. */
  clock?: Clock;
}

/** The processes of a provider's models, one per model, started on first use. */
export class LocalEngines {
  readonly models: LocalModels;
  readonly #provider: string;
  readonly #options: LocalEnginesOptions;
  readonly #clock: Clock;
  readonly #engines = new Map<string, EngineProcess>();

  constructor(provider: string, options: LocalEnginesOptions) {
    this.#provider = provider;
    this.#options = options;
    this.#clock = options.clock ?? new RealClock();
    this.models = options.models ?? new LocalModels();
  }

  /**
   * The process of a model, whether or not it is running.
   * @param isOwn the model is the operator's default and stays loaded
   * @throws ParleyError MODEL_UNUSABLE if sherpa-onnx does not support it
   */
  of({ name, path, engine, config }: LocalModel, isOwn: boolean): EngineProcess {
    const known = this.#engines.get(path);
    if (known !== undefined) {
      if (isOwn) known.stay();
      return known;
    }
    if (engine === null)
      throw new ParleyError('MODEL_UNUSABLE', { model: name, reason: 'sherpa-onnx does not run it' });
    const { loadTimeoutMs, processEntry } = this.#options;
    const { threads, idleMs } = this.models;
    const stays = isOwn || this.models.stays({ name, path });
    const made = new EngineProcess({
      provider: this.#provider,
      model: name,
      clock: this.#clock,
      load: { engine, config, threads, idleMs: stays ? null : idleMs },
      loadTimeoutMs,
      entry: processEntry,
    });
    this.#engines.set(path, made);
    return made;
  }

  /** Kills all processes. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([...this.#engines.values()].map((engine) => engine.close()));
  }
}
