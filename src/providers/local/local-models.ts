import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { baseLanguage } from '../../base/language.js';
import { ParleyError } from '../../base/errors.js';
import { inspectModel } from './inspect-model.js';
import type { LocalModel, ModelKind } from './model-facts.js';

export interface LocalModelsOptions {
  /** The models' folder, with a subfolder for each. Default none: only paths can be given. */
  folder?: string | undefined;
  /**
   * The only paths that are allowed instead of a name. The operator sets them; agents are untrusted and may only use
   * names.
   */
  paths?: readonly string[];
  /** Default model of the recogniser `sherpa`: a name, or one of the paths. Default: the only one. */
  stt?: string | undefined;
  /** Denoising model that replaces RNNoise. Default: RNNoise. */
  denoise?: string | undefined;
  /** Whether the embedded recogniser asks Debian's PocketSphinx, where it is installed. Default false. */
  pocketSphinx?: boolean;
  /** Threads per model. Default 1. */
  threads?: number;
  /** Further models that stay loaded: names or paths. Default none. */
  kept?: readonly string[];
  /** Other models are unloaded after this idle time, in milliseconds; null = never. Default 600,000. */
  idleMs?: number | null;
}

/** An unusable model folder, with the reason. */
export interface BrokenModel {
  name: string;
  reason: string;
}

const NAME = /^[A-Za-z0-9][\w.-]{0,199}$/u;
const IN_WORDS: Readonly<Record<ModelKind, string>> = {
  stt: 'speech recognition',
  tts: 'voice',
  denoise: 'denoising',
  turn: 'turn',
};

/** The operator's models on this machine, by name. New ones in the folder are picked up. */
export class LocalModels {
  readonly folder: string | null;
  readonly threads: number;
  readonly stt: string | null;
  readonly denoise: string | null;
  readonly pocketSphinx: boolean;
  readonly idleMs: number | null;
  readonly #kept: ReadonlySet<string>;
  readonly #paths: ReadonlySet<string>;
  readonly #known = new Map<string, Promise<LocalModel>>();

  constructor(options: LocalModelsOptions = {}) {
    const { folder, paths = [], stt, denoise, threads = 1, kept = [], idleMs = 600_000 } = options;
    this.folder = folder ?? null;
    this.threads = threads;
    this.idleMs = idleMs;
    this.stt = stt ?? null;
    this.denoise = denoise ?? null;
    this.pocketSphinx = options.pocketSphinx ?? false;
    this.#kept = new Set([...kept, stt ?? '', denoise ?? ''].map((name) => (isPath(name) ? resolve(name) : name)));
    this.#paths = new Set([...paths, stt ?? '', denoise ?? ''].filter(isPath).map((path) => resolve(path)));
  }

  /** Whether the name exists or is one of the operator's paths; does not inspect the model. */
  has(given: string): boolean {
    const path = this.#pathOf(given);
    return path !== null && existsSync(path);
  }

  /** Whether it stays loaded while idle. */
  stays({ name, path }: Pick<LocalModel, 'name' | 'path'>): boolean {
    return this.#kept.has(path) || (this.#kept.has(name) && this.#pathOf(name) === path);
  }

  /** The models in the folder, sorted, and the unusable ones. */
  async list(): Promise<{ models: readonly LocalModel[]; broken: readonly BrokenModel[] }> {
    const models: LocalModel[] = [];
    const broken: BrokenModel[] = [];
    for (const name of await this.#names()) {
      try {
        models.push(await this.#inspect(join(this.folder ?? '', name)));
      } catch (error) {
        if (!(error instanceof ParleyError)) throw error;
        broken.push({ name, reason: String(error.details['reason'] ?? error.message) });
      }
    }
    return { models, broken };
  }

  /**
   * A model by its name, or by one of the operator's paths.
   * @throws ParleyError MODEL_UNKNOWN, MODEL_UNUSABLE
   */
  async find(given: string, kind: ModelKind): Promise<LocalModel> {
    const path = this.#pathOf(given);
    const model = path === null || !existsSync(path) ? null : await this.#inspect(path);
    if (model?.kind === kind) return model;
    const known = (await this.list()).models.filter((one) => one.kind === kind).map(({ name }) => name);
    throw new ParleyError('MODEL_UNKNOWN', {
      kind: IN_WORDS[kind],
      which: `"${given.slice(0, 200)}"`,
      known: known.join(', ') || 'none',
    });
  }

  /**
   * The default model: for voices the first that lists the language, else the first that does not exclude it; for other
   * kinds the only candidate.
   * @throws ParleyError MODEL_UNKNOWN if there is none, or more than one
   */
  async only(kind: ModelKind, language: string): Promise<LocalModel> {
    const ofKind = (await this.list()).models.filter((model) => model.kind === kind);
    const fits = ofKind.filter((model) => speaks(model, language));
    if (kind === 'tts') fits.sort((a, b) => Number(a.languages === null) - Number(b.languages === null));
    const [first, ...others] = fits;
    if (first !== undefined && (others.length === 0 || kind === 'tts')) return first;
    const which = first === undefined ? `for ${language}` : 'is selected, and more than one';
    const known = ofKind.map((model) => model.name).join(', ') || 'none';
    throw new ParleyError('MODEL_UNKNOWN', { kind: IN_WORDS[kind], which, known });
  }

  async #names(): Promise<string[]> {
    if (this.folder === null) return [];
    try {
      return (await readdir(this.folder)).filter((name) => NAME.test(name)).toSorted();
    } catch {
      return [];
    }
  }

  #pathOf(given: string): string | null {
    if (isPath(given)) return this.#paths.has(resolve(given)) ? resolve(given) : null;
    return this.folder !== null && NAME.test(given) ? join(this.folder, given) : null;
  }

  /** Cached, except for unusable models, which may have been repaired. */
  #inspect(path: string): Promise<LocalModel> {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const looked = inspectModel(path);
    this.#known.set(path, looked);
    looked.catch(() => this.#known.delete(path));
    return looked;
  }
}

/** Whether a model supports a language, as far as it says. */
export function speaks({ languages }: LocalModel, language: string): boolean {
  return languages === null || language === 'multi' || languages.includes(baseLanguage(language));
}

/** Whether a text is a path rather than a name. */
export function isPath(text: string): boolean {
  return isAbsolute(text) || /[/\\]/u.test(text);
}
