import { RealClock } from '../../../base/real-clock.js';
import type { Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { EngineProcess } from './engine-process.js';
import { LocalModels } from '../local-models.js';
import type { LocalModel } from '../model-facts.js';

/** What all providers of local models are made with. */
export interface LocalEnginesOptions {
  /** Default: none, and no model can be had. */
  models?: LocalModels;
  /** Until a model is loaded, in milliseconds. Default 60,000. */
  loadTimeoutMs?: number;
  /** The code of the engines' processes. Default the package's own; tests put a faulty one here. */
  processEntry?: URL;
  /** Times loading; requests bring their own clock. Default: real time. */
  clock?: Clock;
}

/** The processes of a provider's models, one each. They are started when they are first asked for something. */
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
   * The process of a model, whether it runs or not.
   * @param isOwn it is what the operator gives those who name none: it stays loaded
   * @throws ParleyError MODEL_UNUSABLE: sherpa-onnx does not run it
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
      ...(loadTimeoutMs !== undefined && { loadTimeoutMs }),
      ...(processEntry !== undefined && { entry: processEntry }),
    });
    this.#engines.set(path, made);
    return made;
  }

  /** Ends them all. May be called twice. */
  async close(): Promise<void> {
    await Promise.all([...this.#engines.values()].map((engine) => engine.close()));
  }
}
