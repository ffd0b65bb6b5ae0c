import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { ParleyError } from '../../base/errors.js';
import { inspectModel } from './inspect-model.js';
import { baseLanguage, type LocalModel, type ModelKind } from './model-facts.js';

export interface LocalModelsOptions {
  /** Folder of the models: each a folder in it, by its name. Default none: only paths can be given. */
  folder?: string | undefined;
  /** The only paths that may be named in place of a name: the operator's. Agents come from outside, and name names. */
  paths?: readonly string[];
  /** Model of the recogniser `sherpa` where an agent names none: a name, or one of the paths. Default the only one. */
  stt?: string | undefined;
  /** Model that takes noise out in place of RNNoise. Default RNNoise. */
  denoise?: string | undefined;
  /** Processors that one model may use at a time. Default 1. */
  threads?: number;
  /** Models that stay loaded, beside those above: names or paths. Default none. */
  kept?: readonly string[];
  /** Others are unloaded when nobody has asked for them for so long, in milliseconds; null = never. Default 600,000. */
  idleMs?: number | null;
}

/** A model's folder that cannot be used, and why. */
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

/** The models that the operator has put on this machine, by their names. What is new in the folder is found. */
export class LocalModels {
  readonly folder: string | null;
  readonly threads: number;
  readonly stt: string | null;
  readonly denoise: string | null;
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
    this.#kept = new Set([...kept, stt ?? '', denoise ?? ''].map((name) => (isPath(name) ? resolve(name) : name)));
    this.#paths = new Set([...paths, stt ?? '', denoise ?? ''].filter(isPath).map((path) => resolve(path)));
  }

  /** Whether something of the name is there, or it is one of the operator's paths; without a look into it. */
  has(given: string): boolean {
    const path = this.#pathOf(given);
    return path !== null && existsSync(path);
  }

  /** Whether it stays loaded though nobody asks for it. */
  stays({ name, path }: Pick<LocalModel, 'name' | 'path'>): boolean {
    return this.#kept.has(path) || (this.#kept.has(name) && this.#pathOf(name) === path);
  }

  /** What is in the folder, in order, and what of it cannot be used. */
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
   * Which one to take where nobody has named one: of voices the first that says it is for the language, else the first that
   * may be; of others the only one that may be.
   * @throws ParleyError MODEL_UNKNOWN where there is none, or more than one
   */
  async only(kind: ModelKind, language: string): Promise<LocalModel> {
    const ofKind = (await this.list()).models.filter((model) => model.kind === kind);
    const fits = ofKind.filter((model) => speaks(model, language));
    if (kind === 'tts') fits.sort((a, b) => Number(a.languages === null) - Number(b.languages === null));
    const [first, ...others] = fits;
    if (first !== undefined && (others.length === 0 || kind === 'tts')) return first;
    const which = first === undefined ? `for ${language}` : 'that nobody has named';
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

  /** Looked at once; a faulty one again, for it may have been mended. */
  #inspect(path: string): Promise<LocalModel> {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const looked = inspectModel(path);
    this.#known.set(path, looked);
    looked.catch(() => this.#known.delete(path));
    return looked;
  }
}

/** Whether a model is for a language, as far as it says. */
export function speaks({ languages }: LocalModel, language: string): boolean {
  return languages === null || language === 'multi' || languages.includes(baseLanguage(language));
}

/** Whether a text is a path and no name. */
export function isPath(text: string): boolean {
  return isAbsolute(text) || /[/\\]/u.test(text);
}
