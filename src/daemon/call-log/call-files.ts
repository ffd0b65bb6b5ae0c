import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { opendir, rm, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileNameOf } from '../../session/record/file-name.js';
import { recordingLeftIn } from '../../session/record/recording-folder.js';
import type { StoredCall } from '../../store/calls.js';

/** Counts of deleted files. */
export interface RemovedFiles {
  recordings: number;
  traces: number;
}

/** The files of calls in a data folder: recordings and traces. */
export class CallFiles {
  readonly recordings: string;
  readonly traces: string;
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = resolve(dataDir);
    this.recordings = join(this.#dataDir, 'recordings');
    this.traces = join(this.#dataDir, 'traces');
  }

  /** A path for the store: relative if it is inside the data folder, so that the folder can be moved. */
  kept(path: string | null): string | null {
    if (path === null) return null;
    const inside = relative(this.#dataDir, resolve(path));
    return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? path : inside;
  }

  /** The path of a call's recording; null = it has none. */
  recordingOf({ recording }: Pick<StoredCall, 'recording'>): string | null {
    return recording === null ? null : resolve(this.#dataDir, recording);
  }

  /** The path of a session's trace, which may not exist. */
  traceOf(sessionId: string): string {
    return join(this.traces, `${fileNameOf(sessionId)}.jsonl`);
  }

  /** The recording of a session whose process died; null = there is none. */
  leftBehind(sessionId: string): { path: string; durationMs: number } | null {
    const path = recordingLeftIn(this.recordings, sessionId);
    return path === null ? null : { path, durationMs: wavDurationMs(path) };
  }

  /** Deletes the files of a call. @throws errors of the file system */
  async remove(call: Pick<StoredCall, 'sessionId' | 'recording'>): Promise<RemovedFiles> {
    const recording = this.recordingOf(call);
    const [recordings, traces] = await Promise.all([
      recording === null ? 0 : removed(recording),
      removed(this.traceOf(call.sessionId)),
    ]);
    return { recordings, traces };
  }

  /**
   * Deletes files that have not changed since a time, one after the other.
   * @param unixMs milliseconds since 1970
   */
  async sweep(unixMs: number, signal: AbortSignal): Promise<RemovedFiles> {
    return {
      recordings: await swept(this.recordings, unixMs, signal),
      traces: await swept(this.traces, unixMs, signal),
    };
  }
}

async function swept(folder: string, unixMs: number, signal: AbortSignal): Promise<number> {
  let count = 0;
  try {
    for await (const entry of await opendir(folder)) {
      if (signal.aborted) break;
      const path = join(folder, entry.name);
      if (!entry.isFile() || (await stat(path)).mtimeMs >= unixMs) continue;
      count += await removed(path);
    }
  } catch (error) {
    if (!isMissing(error)) throw error; // the folder was never created
  }
  return count;
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

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Duration of a WAV file by its size, even if it was never completed. 0 = it cannot be read. */
function wavDurationMs(path: string): number {
  const head = Buffer.alloc(256);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, head, 0, head.length, 0);
      const format = head.indexOf('fmt ');
      const data = head.indexOf('data', format);
      if (format < 0 || data < 0) return 0;
      const bytesPerSecond = head.readUInt32LE(format + 16);
      return (Math.max(0, fstatSync(file).size - data - 8) / bytesPerSecond) * 1000;
    } finally {
      closeSync(file);
    }
  } catch {
    return 0;
  }
}
