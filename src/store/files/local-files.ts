import { type FileHandle, open, opendir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { finished } from 'node:stream';
import type { FileStore, OpenFile, StoredFile } from './file-store.js';

/** The files of a folder. A key may also be an absolute path. */
export class LocalFiles implements FileStore {
  readonly root: string;

  constructor(root: string) {
    this.root = resolve(root);
  }

  pathOf(key: string): string {
    return resolve(this.root, key);
  }

  async open(key: string): Promise<OpenFile | null> {
    let file: FileHandle;
    try {
      file = await open(this.pathOf(key), 'r');
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    try {
      const { size, mtimeMs } = await file.stat();
      return new LocalFile(file, key, size, mtimeMs);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async remove(keys: readonly string[]): Promise<number> {
    const counts = await Promise.all(keys.map((key) => removed(this.pathOf(key))));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredFile, void, undefined> {
    try {
      for await (const entry of await opendir(this.pathOf(prefix))) {
        if (signal.aborted) return;
        if (!entry.isFile()) continue;
        const key = `${prefix}${entry.name}`;
        const found = await stat(join(this.root, key)).catch(absent);
        if (found !== null) yield { key, bytes: found.size, modifiedUnixMs: found.mtimeMs };
      }
    } catch (error) {
      if (!isMissing(error)) throw error; // the folder was never created
    }
  }
}

class LocalFile implements OpenFile {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedUnixMs: number;
  readonly #file: FileHandle;
  #streams = 0;
  #isClosed = false;

  constructor(file: FileHandle, key: string, bytes: number, modifiedUnixMs: number) {
    this.#file = file;
    this.key = key;
    this.bytes = bytes;
    this.modifiedUnixMs = modifiedUnixMs;
  }

  get etag(): string {
    return `"${this.bytes.toString(16)}-${Math.floor(this.modifiedUnixMs).toString(16)}"`;
  }

  async stream(start: number, end: number): ReturnType<OpenFile['stream']> {
    this.#streams++;
    const stream = this.#file.createReadStream({ start, end, autoClose: false });
    finished(stream, () => {
      this.#streams--;
      void this.#closeWhenUnused();
    });
    return stream;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#closeWhenUnused();
  }

  async #closeWhenUnused(): Promise<void> {
    if (this.#isClosed && this.#streams === 0) await this.#file.close();
  }
}

/** Returns the number of deleted files: 1, or 0 if it did not exist. */
async function removed(path: string): Promise<number> {
  try {
    await rm(path);
    return 1;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

function absent(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
