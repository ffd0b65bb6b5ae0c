import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A multipart upload of a file on this disk. */
export interface UploadState {
  key: string;
  uploadId: string;
  /** The store that has it, with its endpoint. */
  store: string;
  /** The parts that it has, by their numbers from 1. */
  parts: Record<number, SentPart>;
}

export interface SentPart {
  etag: string;
  /** In hexadecimal. */
  md5: string;
  bytes: number;
}

/** Multipart uploads in a folder of the data folder, one small file each: the next start continues or aborts them. */
export class UploadStates {
  readonly #folder: string;
  readonly #states = new Map<string, UploadState>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads the folder. States of another store are dropped: their parts cannot be reached. */
  async load(store: string): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name);
      const state = name.endsWith('.json') ? await read(path) : null;
      if (state?.store === store) this.#states.set(state.key, state);
      else await rm(path, { force: true });
    }
  }

  get(key: string): UploadState | null {
    return this.#states.get(key) ?? null;
  }

  get keys(): readonly string[] {
    return [...this.#states.keys()];
  }

  async save(state: UploadState): Promise<void> {
    this.#states.set(state.key, state);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(state.key);
    await writeFile(`${path}.part`, JSON.stringify(state), { mode: 0o600 });
    await rename(`${path}.part`, path);
  }

  async remove(key: string): Promise<void> {
    if (this.#states.delete(key)) await rm(this.#pathOf(key), { force: true });
  }

  #pathOf(key: string): string {
    return join(this.#folder, `${encodeURIComponent(key)}.json`);
  }
}

/** Null = it was not completely written. */
async function read(path: string): Promise<UploadState | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as UploadState;
  } catch {
    return null;
  }
}
