import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileNameOf } from '../../session/record/file-name.js';
import type { StoredCall } from '../../store/calls.js';
import type { CallFiles } from '../files/call-files.js';

/**
 * The files of test calls. While a run goes on, they are in a folder of their own. Then they move to the folders of all
 * calls, whose retention also applies to them.
 */
export class EvalFiles {
  readonly #calls: CallFiles;
  readonly #folder: string;

  constructor(dataDir: string, calls: CallFiles) {
    this.#calls = calls;
    this.#folder = join(dataDir, 'evals');
  }

  /** Makes the folder of a run. */
  async open(runId: string): Promise<string> {
    const path = join(this.#folder, fileNameOf(runId));
    await mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Deletes the folder of a run; null = all such folders, which earlier processes have left. */
  async clear(runId: string | null): Promise<void> {
    const path = runId === null ? this.#folder : join(this.#folder, fileNameOf(runId));
    await rm(path, { recursive: true, force: true });
  }

  /** Moves a recording to those of calls. Returns its path for the store. */
  async keepRecording(sessionId: string, path: string): Promise<string | null> {
    const to = join(this.#calls.recordings, `${fileNameOf(sessionId)}.wav`);
    await moved(path, this.#calls.recordings, to);
    return this.#calls.kept(to);
  }

  /** Moves an event log to those of calls. */
  async keepTrace(sessionId: string, path: string): Promise<void> {
    await moved(path, this.#calls.traces, this.#calls.traceHere(sessionId));
  }

  /** Deletes the files of calls. */
  async remove(calls: readonly StoredCall[]): Promise<void> {
    for (const call of calls) await this.#calls.remove(call);
  }
}

async function moved(from: string, folder: string, to: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await rename(from, to);
}
