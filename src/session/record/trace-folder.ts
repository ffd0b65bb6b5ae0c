import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cancel, Clock } from '../../base/clock.js';
import { reasonOf } from '../../base/errors.js';
import type { LogEntry, LogSink } from './event-log.js';
import { fileNameOf } from './file-name.js';

/** Keeps the event logs of sessions. */
export interface SessionTraces {
  /** @param onFault nothing more is stored for this session; it continues */
  open(sessionId: string, onFault: (reason: string) => void): SessionTrace;
}

export interface SessionTrace {
  readonly log: LogSink;
  /** Resolves when everything is in the file. Never rejects, may be called twice. */
  close(): Promise<void>;
}

export interface TraceFolderOptions {
  /** Created on first use; only this user may read it. */
  path: string;
  /** A real-time clock. */
  clock: Clock;
  /** A trace ends with the event that exceeds this size. */
  maxBytes: number;
}

/** Maximum delay until an entry is in the file. */
const FLUSH_MS = 1000;
const FLUSH_CHARS = 65_536;
/** A disk that is this far behind is given up. */
const MAX_WAITING_CHARS = 8_388_608;

/**
 * A folder of event logs, `<session id>.jsonl`, for `parley replay`. Sessions never wait for it: lines are collected
 * and written about once a second. A log at the size limit is still a complete log of what happened until then, and its
 * last line says so.
 */
export class TraceFolder implements SessionTraces {
  readonly #options: TraceFolderOptions;
  readonly #open = new Map<string, TraceFile>();

  constructor(options: TraceFolderOptions) {
    this.#options = options;
  }

  open(sessionId: string, onFault: (reason: string) => void): SessionTrace {
    const file = new TraceFile({ ...this.#options, path: this.pathOf(sessionId) }, this.#options.path, onFault);
    const name = fileNameOf(sessionId);
    this.#open.set(name, file);
    const close = async (): Promise<void> => {
      await file.close();
      if (this.#open.get(name) === file) this.#open.delete(name);
    };
    return { log: (entry) => file.write(entry), close };
  }

  /** Path of a session's log, whether it exists or not. */
  pathOf(sessionId: string): string {
    return join(this.#options.path, `${fileNameOf(sessionId)}.jsonl`);
  }

  /**
   * Resolves when all entries of a session so far are in its file: with whether it may get more.
   * @param sessionId or the name of its file, without the extension
   */
  async flush(sessionId: string): Promise<boolean> {
    const file = this.#open.get(fileNameOf(sessionId));
    await file?.flush();
    return file !== undefined;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((file) => file.close()));
    this.#open.clear();
  }
}

class TraceFile {
  readonly #options: TraceFolderOptions;
  readonly #folder: string;
  readonly #onFault: (reason: string) => void;
  #lines = '';
  #waitingChars = 0;
  #bytes = 0;
  #state: 'open' | 'full' | 'closed' = 'open';
  #cancel: Cancel | null = null;
  #file: FileHandle | null = null;
  #written: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  constructor(options: TraceFolderOptions, folder: string, onFault: (reason: string) => void) {
    this.#options = options;
    this.#folder = folder;
    this.#onFault = onFault;
  }

  write(entry: LogEntry): void {
    if (this.#state !== 'open') return;
    // An event and its effects stay together: a log that ends before an event can be replayed.
    if (entry.kind === 'event' && this.#bytes >= this.#options.maxBytes) {
      this.#state = 'full';
      this.#line({ t: entry.t, kind: 'note', name: 'trace.full', data: { bytes: this.#bytes } });
      return;
    }
    this.#line(entry);
  }

  flush(): Promise<void> {
    this.#flush();
    return this.#written;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #line(entry: LogEntry): void {
    const line = `${JSON.stringify(entry)}\n`;
    this.#lines += line;
    this.#bytes += Buffer.byteLength(line);
    if (this.#lines.length >= FLUSH_CHARS) this.#flush();
    else this.#cancel ??= this.#options.clock.schedule(this.#options.clock.nowMs() + FLUSH_MS, () => this.#flush());
  }

  #flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const lines = this.#lines;
    this.#lines = '';
    if (lines === '' || this.#state === 'closed') return;
    this.#waitingChars += lines.length;
    if (this.#waitingChars > MAX_WAITING_CHARS) {
      this.#fail('the disk is too slow');
      return;
    }
    this.#written = this.#written
      .then(async () => {
        this.#file ??= await this.#create();
        await this.#file.appendFile(lines);
        this.#waitingChars -= lines.length;
      })
      .catch((error: unknown) => this.#fail(reasonOf(error)));
  }

  /** A second session with the same id replaces the first one's log. */
  async #create(): Promise<FileHandle> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    return open(this.#options.path, 'w', 0o600);
  }

  #fail(reason: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#onFault(reason);
  }

  async #close(): Promise<void> {
    this.#flush();
    await this.#written;
    this.#state = 'closed';
    await this.#file?.close().catch((error: unknown) => this.#onFault(reasonOf(error)));
  }
}
