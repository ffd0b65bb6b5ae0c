import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileNameOf } from '../../session/record/file-name.js';
import { recordingLeftIn } from '../../session/record/recording-folder.js';
import type { StoredCall } from '../../store/calls.js';
import { contentOf, type OpenFile } from '../../store/files/file-store.js';
import { LocalFiles } from '../../store/files/local-files.js';
import type { RemoteFiles } from './remote-files.js';

/** Counts of deleted files. */
export interface RemovedFiles {
  recordings: number;
  traces: number;
}

type FilesOf = Pick<StoredCall, 'sessionId' | 'recording'>;

const RECORDINGS = 'recordings/';
const TRACES = 'traces/';
/** A multipart upload that is this old is of no running call. */
const ABANDONED_MS = 3 * 86_400_000;
/** Files that one request deletes. */
const BATCH = 1000;

/**
 * The files of calls: recordings and traces. They are in the data folder of the node that had the call, and once they
 * are complete, in the store of the settings, if there is one.
 */
export class CallFiles {
  readonly #local: LocalFiles;
  readonly #remote: RemoteFiles | null;

  /** @param remote null = all files are in the data folder */
  constructor(dataDir: string, remote: RemoteFiles | null = null) {
    this.#local = new LocalFiles(dataDir);
    this.#remote = remote;
  }

  /** Where sessions of this node write their recordings. */
  get recordings(): string {
    return this.#local.pathOf('recordings');
  }

  /** Where sessions of this node write their event logs. */
  get traces(): string {
    return this.#local.pathOf('traces');
  }

  /** The key of a session's trace, which may not exist. */
  static traceKey(sessionId: string): string {
    return `${TRACES}${fileNameOf(sessionId)}.jsonl`;
  }

  /** A path for the store: relative if it is inside the data folder, so that the folder can be moved. */
  kept(path: string | null): string | null {
    if (path === null) return null;
    const inside = relative(this.#local.root, resolve(path));
    const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
    return isOutside ? path : inside.split(sep).join('/');
  }

  /** A call's recording for reading; null = it has none. The caller closes it. @throws ParleyError FILE_STORE_… */
  async recording({ recording }: Pick<StoredCall, 'recording'>): Promise<OpenFile | null> {
    return recording === null ? null : this.open(recording);
  }

  /** A session's trace for reading; null = it has none. The caller closes it. @throws ParleyError FILE_STORE_… */
  trace(sessionId: string): Promise<OpenFile | null> {
    return this.open(CallFiles.traceKey(sessionId));
  }

  /** The whole of a file; null = there is no such file. @throws ParleyError FILE_STORE_… */
  async read(key: string): Promise<Buffer | null> {
    const file = await this.open(key);
    return file === null ? null : contentOf(file);
  }

  /** The address of a file for people: a path, or one such as `s3://bucket/recordings/….wav`. */
  addressOf(key: string): string {
    const path = this.#local.pathOf(key);
    return this.#remote === null || isAbsolute(key) || existsSync(path) ? path : `${this.#remote.store.name}/${key}`;
  }

  /**
   * A link of the store to a recording, if clients are to be redirected to it and the file is there; else null.
   * @throws ParleyError FILE_STORE_…
   */
  async redirect(
    { recording }: Pick<StoredCall, 'recording'>,
    answer: { contentType: string; disposition: string },
    lifeS: number,
  ): Promise<string | null> {
    if (recording === null || this.#remote === null || !this.#remote.location.redirects) return null;
    const local = await this.#local.open(recording);
    await local?.close();
    if (local !== null || (await this.#remote.store.open(recording)) === null) return null;
    return this.#remote.store.link(recording, answer, lifeS);
  }

  async open(key: string): Promise<OpenFile | null> {
    return (await this.#local.open(key)) ?? (isAbsolute(key) ? null : (this.#remote?.store.open(key) ?? null));
  }

  /** The path of a session's trace on this node, which may not exist. */
  traceHere(sessionId: string): string {
    return this.#local.pathOf(CallFiles.traceKey(sessionId));
  }

  /** The recording of a session whose process died on this node; null = there is none. */
  leftBehind(sessionId: string): { path: string; durationMs: number } | null {
    const path = recordingLeftIn(this.recordings, sessionId);
    return path === null ? null : { path, durationMs: wavDurationMs(path) };
  }

  /**
   * Deletes the files of a call, here and in the store; if the store is away, as soon as it is back. Counts what is
   * deleted or will be.
   * @throws errors of the file system and of the database
   */
  async remove(call: FilesOf): Promise<RemovedFiles> {
    const { recording, sessionId } = call;
    const trace = CallFiles.traceKey(sessionId);
    const isRemote = recording !== null && !isAbsolute(recording);
    const hasTrace = await this.#hasTrace(trace);
    // Before the files here: a node that dies in between has forgotten none.
    await this.#remote?.deletions.remove(isRemote ? [recording, trace] : [trace]);
    const removed = await this.#removeHere(call);
    if (this.#remote === null) return removed;
    return { recordings: isRemote ? 1 : removed.recordings, traces: hasTrace ? 1 : removed.traces };
  }

  /** Deletes files of calls that are past their retention. What the store refuses, `sweepStore` finds later. */
  async expire(calls: readonly FilesOf[]): Promise<RemovedFiles> {
    const removed: RemovedFiles = { recordings: 0, traces: 0 };
    for (const call of calls) {
      const { recordings, traces } = await this.#removeHere(call);
      removed.recordings += recordings;
      removed.traces += traces;
    }
    const keys = calls.flatMap(({ sessionId, recording }) => [
      ...(recording === null || isAbsolute(recording) ? [] : [recording]),
      CallFiles.traceKey(sessionId),
    ]);
    await this.#remote?.store.remove(keys);
    return removed;
  }

  /**
   * Deletes files of this node that have not changed since a time, one after the other.
   * @param unixMs milliseconds since 1970
   */
  async sweep(unixMs: number, signal: AbortSignal): Promise<RemovedFiles> {
    const swept = async (prefix: string): Promise<number> => {
      let count = 0;
      for await (const { key, modifiedUnixMs } of this.#local.list(prefix, signal)) {
        if (modifiedUnixMs < unixMs) count += await this.#local.remove([key]);
      }
      return count;
    };
    return { recordings: await swept(RECORDINGS), traces: await swept(TRACES) };
  }

  /** Deletes files in the store that were sent before a time, and gives up uploads of dead nodes. One node does it. */
  async sweepStore(unixMs: number, nowUnixMs: number, signal: AbortSignal): Promise<RemovedFiles> {
    const store = this.#remote?.store;
    if (store === undefined) return { recordings: 0, traces: 0 };
    for await (const upload of store.uploads(signal)) {
      if (upload.startedUnixMs < nowUnixMs - ABANDONED_MS) await store.abort(upload);
    }
    const swept = async (prefix: string): Promise<number> => {
      let count = 0;
      let old: string[] = [];
      for await (const { key, modifiedUnixMs } of store.list(prefix, signal)) {
        if (modifiedUnixMs >= unixMs) continue;
        count++;
        old.push(key);
        if (old.length < BATCH) continue;
        await store.remove(old);
        old = [];
      }
      await store.remove(old);
      return count;
    };
    return { recordings: await swept(RECORDINGS), traces: await swept(TRACES) };
  }

  async #removeHere({ sessionId, recording }: FilesOf): Promise<RemovedFiles> {
    const [recordings, traces] = await Promise.all([
      recording === null ? 0 : this.#local.remove([recording]),
      this.#local.remove([CallFiles.traceKey(sessionId)]),
    ]);
    return { recordings, traces };
  }

  /** Whether the store has a trace, or may have it because it is away. */
  async #hasTrace(key: string): Promise<boolean> {
    if (this.#remote === null) return false;
    return this.#remote.store.open(key).then(
      (file) => file !== null,
      () => true,
    );
  }
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
