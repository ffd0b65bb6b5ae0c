import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Cancel, Clock } from '../base/clock.js';
import { errorOf, ParleyError } from '../base/errors.js';
import { Queue } from '../base/queues.js';
import { storageFault } from './sqlite.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';
import type { WriteOperation, Writes, Written } from './writes.js';

export interface WaitingWritesOptions {
  database: SqlDatabase;
  /** Of its file. */
  path: string;
  /** The file's size at most. */
  maxBytes: number;
  clock: Clock;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  /** A write is lost: the file is full, or the database refuses it. */
  onError: (error: Error) => void;
}

/** A write that waits. */
interface Entry {
  /** Grows by one with each entry. */
  seq: number;
  name: string;
  /** When it was asked for. */
  unixMs: number;
  data: unknown;
}

/** From this part of its size on, a file counts as full. */
const FULL = 0.9;
/** How long to wait before the database is tried again. */
const RETRY_MS = { first: 100, most: 2_000 };

/**
 * Writes of running calls to a database that may be unreachable for a while. Then they wait in a file and are done in
 * their order when it is back, also by a later process. Each is done once: the transaction that does it also stores how
 * far the journal has been worked off.
 */
export class WaitingWrites implements Writes {
  readonly #options: WaitingWritesOptions;
  readonly #operations = new Map<string, WriteOperation<unknown, unknown>>();
  readonly #file: FileHandle;
  /** Accesses to the file, one after the other. */
  readonly #access = new Queue();
  /** Of the content of the file, in its first line: another one each time it has been empty. */
  #id: string;
  #entries: Entry[];
  #bytes: number;
  #nextSeq: number;
  /** Bytes that are safe in the file. */
  #written: number;
  /** Lines that the next access writes. */
  #lines: string[] = [];
  /** Whether the file has been emptied since the last entry was done. */
  #isEmpty: boolean;
  #dropped = 0;
  readonly #listeners: (() => void)[] = [];
  #isStarted = false;
  #working: Promise<void> | null = null;
  #retryMs = RETRY_MS.first;
  /** Null = none is planned. */
  #cancelRetry: Cancel | null = null;
  #isClosed = false;

  private constructor(options: WaitingWritesOptions, file: FileHandle, { id, entries, bytes }: Content) {
    this.#options = options;
    this.#file = file;
    this.#id = id;
    this.#entries = entries;
    this.#bytes = bytes;
    this.#written = bytes;
    this.#isEmpty = bytes === 0;
    this.#nextSeq = (entries.at(-1)?.seq ?? 0) + 1;
  }

  /** Opens the file or creates it. @throws ParleyError FILE_NOT_WRITABLE, DISK_FULL */
  static async open(options: WaitingWritesOptions): Promise<WaitingWrites> {
    let file: FileHandle | null = null;
    try {
      file = await open(options.path, 'a+', 0o600);
      const content = contentOf(await file.readFile(), options.path);
      // The last line may be incomplete after a crash: nobody has been told that it is safe.
      await file.truncate(content.bytes);
      return new WaitingWrites(options, file, content);
    } catch (error) {
      await file?.close();
      throw faultOf(error, options.path);
    }
  }

  /** The number of writes that wait. */
  get waiting(): number {
    return this.#entries.length;
  }

  /** The number of writes that this process has lost, because there were too many or the database refused them. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether the room that is left is for calls that go on. */
  get isFull(): boolean {
    return this.#bytes > FULL * this.#options.maxBytes;
  }

  operation<T, R>(name: string, work: WriteOperation<T, R>): (data: T) => Promise<Written<R>> {
    this.#operations.set(name, work as WriteOperation<unknown, unknown>);
    return (data) => this.#write(name, data, work);
  }

  onWritten(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Does what an earlier process has left. Call it when all operations have their names.
   * @returns resolves when nothing waits, or the database cannot be reached
   */
  start(): Promise<void> {
    this.#isStarted = true;
    return this.#work();
  }

  /** Leaves what waits to the next process. May be called twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelRetry?.();
    await this.#working;
    await this.#access.idle();
    await this.#file.close();
  }

  async #write<T, R>(name: string, data: T, work: WriteOperation<T, R>): Promise<Written<R>> {
    // What comes later must not overtake what waits.
    if (this.#isEmpty) {
      try {
        return { result: await this.#options.database.transaction(() => work(data, 0)) };
      } catch (error) {
        if (!isUnreachable(error)) throw error;
      }
    }
    await this.#append(name, data);
    this.#retryLater();
    return null;
  }

  async #append(name: string, data: unknown): Promise<void> {
    const { maxBytes, nowUnixMs, path } = this.#options;
    const entry: Entry = { seq: this.#nextSeq, name, data, unixMs: nowUnixMs() };
    const line = `${JSON.stringify(entry)}\n`;
    const size = Buffer.byteLength(line);
    if (this.#isClosed || this.#bytes + size > maxBytes) {
      throw this.#lost(new ParleyError('DATABASE_UNREACHABLE', { reason: `${path} is full: ${name} is lost` }));
    }
    this.#isEmpty = false;
    this.#nextSeq++;
    this.#bytes += size;
    this.#entries.push(entry);
    this.#lines.push(line);
    try {
      await this.#access.run(() => this.#flush());
    } catch (error) {
      throw this.#lost(errorOf(faultOf(error, path)));
    }
  }

  /** Writes the new lines to the disk; those that came meanwhile with the next call. */
  async #flush(): Promise<void> {
    const lines = this.#lines.splice(0);
    if (lines.length === 0) return;
    const text = Buffer.from(`${this.#written === 0 ? headOf(this.#id) : ''}${lines.join('')}`);
    try {
      await this.#file.appendFile(text);
      await this.#file.datasync();
      this.#written += text.length;
    } catch (error) {
      // What comes later must not follow half a line.
      await this.#file.truncate(this.#written).catch(() => undefined);
      throw error;
    }
  }

  #work(): Promise<void> {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#working ??= this.#workOff().finally(() => {
      this.#working = null;
      this.#retryLater();
    });
    return this.#working;
  }

  async #workOff(): Promise<void> {
    while (!this.#isClosed && !this.#isEmpty) {
      const [entry] = this.#entries;
      if (entry === undefined) {
        await this.#access.run(() => this.#empty());
        continue;
      }
      try {
        await this.#do(entry);
      } catch (error) {
        if (isUnreachable(error)) return;
        // Others behind it must not wait for it forever.
        this.#lost(errorOf(error));
      }
      this.#retryMs = RETRY_MS.first;
      this.#entries.shift();
    }
  }

  async #do({ seq, name, unixMs, data }: Entry): Promise<void> {
    const { database, nowUnixMs } = this.#options;
    const [id, operation] = [this.#id, this.#operations.get(name)];
    if (operation === undefined) throw new Error(`there is an unknown write: ${name}`);
    const agoUs = Math.max(0, Math.floor((nowUnixMs() - unixMs) * 1000));
    await database.transaction(function* () {
      if (yield* isDone(id, seq)) return;
      yield* operation(data, agoUs);
      yield* run(
        sql`INSERT INTO waiting_writes (id, done) VALUES (${id}, ${seq}) ON CONFLICT (id) DO UPDATE SET done = excluded.done`,
      );
    });
  }

  /** Empties the file if nothing has been added. */
  async #empty(): Promise<void> {
    if (this.#entries.length > 0) return;
    const { database } = this.#options;
    await this.#file.truncate(0);
    await this.#file.datasync();
    this.#written = 0;
    const id = this.#id;
    this.#id = randomUUID();
    this.#bytes = this.#lines.reduce((sum, line) => sum + Buffer.byteLength(line), headOf(this.#id).length);
    this.#isEmpty = this.#entries.length === 0;
    if (this.#isEmpty) {
      this.#bytes = 0;
      for (const listener of this.#listeners) listener();
    }
    // Without this, one row stays: it does no harm.
    await database.run(sql`DELETE FROM waiting_writes WHERE id = ${id}`).catch(() => undefined);
  }

  #retryLater(): void {
    if (!this.#isStarted || this.#isClosed || this.#isEmpty || this.#working !== null) return;
    if (this.#cancelRetry !== null) return;
    const { clock } = this.#options;
    this.#cancelRetry = clock.schedule(clock.nowMs() + this.#retryMs, () => void this.#work());
    this.#retryMs = Math.min(RETRY_MS.most, 2 * this.#retryMs);
  }

  #lost(error: Error): Error {
    this.#dropped++;
    this.#options.onError(error);
    return error;
  }
}

interface Content {
  id: string;
  entries: Entry[];
  /** Without an incomplete line at the end. */
  bytes: number;
}

/** @throws ParleyError DATABASE_UNUSABLE */
function contentOf(file: Buffer, path: string): Content {
  const bytes = file.lastIndexOf(10) + 1;
  const [head, ...lines] = file.subarray(0, bytes).toString('utf8').split('\n').slice(0, -1);
  if (head === undefined) return { id: randomUUID(), entries: [], bytes: 0 };
  try {
    const { of } = JSON.parse(head) as { of: string };
    return { bytes, id: of, entries: lines.map((line) => JSON.parse(line) as Entry) };
  } catch (error) {
    const reason = `${errorOf(error).message}; move the file away to start without what waits in it`;
    throw new ParleyError('DATABASE_UNUSABLE', { path, reason }, { cause: error });
  }
}

function headOf(id: string): string {
  return `${JSON.stringify({ of: id })}\n`;
}

function* isDone(id: string, seq: number): Transaction<boolean> {
  const [row] = (yield sql`SELECT done FROM waiting_writes WHERE id = ${id}`).rows as ({ done: number } | undefined)[];
  return row !== undefined && row.done >= seq;
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ParleyError && error.code === 'DATABASE_UNREACHABLE';
}

function faultOf(error: unknown, path: string): unknown {
  if (error instanceof ParleyError) return error;
  const { message } = errorOf(error);
  return storageFault(error, path) ?? new ParleyError('FILE_NOT_WRITABLE', { path, reason: message }, { cause: error });
}
