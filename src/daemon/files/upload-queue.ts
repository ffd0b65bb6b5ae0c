import { rm, stat } from 'node:fs/promises';
import type { Cancel, Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { Random } from '../../base/random.js';
import type { StoredFile } from '../../store/files/file-store.js';
import type { LocalFiles } from '../../store/files/local-files.js';
import type { Log } from '../operations/log.js';
import type { FileSender } from './file-sender.js';

export interface UploadQueueOptions {
  sender: FileSender;
  local: LocalFiles;
  /** Names the store in the log. */
  store: string;
  /** A real-time clock. */
  clock: Clock;
  nowUnixMs: () => number;
  /** Of the jitter of pauses. */
  seed: number;
  log: Log;
  /** Whether the file's deletion was asked for, on any node. */
  isDeleted: (key: string) => Promise<boolean>;
  /** Whether a session still writes the file; asked once it seems complete. */
  isWritten: (key: string) => Promise<boolean>;
  /** The store has the file. The local one is deleted after that. */
  onSent: (key: string) => Promise<void>;
  /** The store has a file whose deletion was asked for meanwhile. */
  onUnwanted: (key: string) => Promise<void>;
  /** Files that have not changed for longer are left to retention. */
  keptMs: number;
  /** Waiting bytes of which the log warns. */
  warnBytes: number;
  times?: Partial<UploadTimes>;
}

/** In milliseconds. */
export interface UploadTimes {
  /** Between two looks at the disk. Default 10 s. */
  scanMs: number;
  /** A file of no known call that has not changed for this long is complete. Default 60 s. */
  settledMs: number;
  /** The first pause after a failure; doubled up to `longestPauseMs`. Default 1 s. */
  pauseMs: number;
  /** Default 5 min. */
  longestPauseMs: number;
  /** How long `close` goes on sending. Default 15 s. */
  flushMs: number;
}

const TIMES: UploadTimes = {
  scanMs: 10_000,
  settledMs: 60_000,
  pauseMs: 1_000,
  longestPauseMs: 300_000,
  flushMs: 15_000,
};
/** Files and parts that are sent at the same time. */
const AT_ONCE = 4;
/** A look at the disk may take this share of the time. */
const SCAN_SHARE = 0.05;
const WARN_FAULT_MS = 60_000;
const WARN_MANY_MS = 3_600_000;
const FOLDERS = ['recordings/', 'traces/'];

interface Job {
  key: string;
  bytes: number;
  modifiedUnixMs: number;
  /** Its call has ended, or it has not changed for a while. */
  isComplete: boolean;
  /** Aborts what is going on; null = nothing is. */
  sending: AbortController | null;
  failures: number;
  /** On the clock. */
  notBeforeMs: number;
}

/** The files that wait for the store. */
export interface WaitingFiles {
  files: number;
  bytes: number;
  /** When the oldest was completed, in milliseconds since 1970; null = none waits. */
  oldestUnixMs: number | null;
}

/**
 * Sends recordings and traces from the disk to the store: parts of recordings while their calls run, everything else
 * when it is complete. What is on the disk is the queue, so it survives restarts. While the store fails, everything
 * waits, with one attempt at a time after growing pauses.
 */
export class UploadQueue {
  readonly #options: UploadQueueOptions;
  readonly #times: UploadTimes;
  readonly #random: Random;
  readonly #jobs = new Map<string, Job>();
  /** What can be sent, the most urgent last. */
  #ready: Job[] = [];
  /** Files of calls that have ended. */
  readonly #ended = new Set<string>();
  readonly #closed = new AbortController();
  #sending = 0;
  #failures = 0;
  #pausedUntilMs = 0;
  /** When the log had a warning of each kind, on the clock. */
  readonly #warned = new Map<'fault' | 'many', number>();
  #isStarted = false;
  #cancelLook: Cancel = () => undefined;
  #cancelPause: Cancel = () => undefined;
  #scanning: Promise<void> = Promise.resolve();
  #whenIdle: (() => void)[] = [];
  #closing: Promise<void> | null = null;
  /** Sent files and failed attempts. */
  readonly counts = { sent: 0, sentBytes: 0, failed: 0 };

  constructor(options: UploadQueueOptions) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.#random = new Random(options.seed);
  }

  /** Continues what an earlier process has left, and looks at the disk from now on. */
  async start(): Promise<void> {
    await this.#options.sender.load();
    if (this.#closing !== null) return;
    this.#isStarted = true;
    await this.#look();
  }

  get waiting(): WaitingFiles {
    const waiting: WaitingFiles = { files: 0, bytes: 0, oldestUnixMs: null };
    for (const { isComplete, bytes, modifiedUnixMs } of this.#jobs.values()) {
      if (!isComplete) continue;
      waiting.files++;
      waiting.bytes += bytes;
      waiting.oldestUnixMs = Math.min(waiting.oldestUnixMs ?? modifiedUnixMs, modifiedUnixMs);
    }
    return waiting;
  }

  /** Files of a call that has ended are sent at once; they may not exist. */
  ended(keys: readonly string[]): void {
    for (const key of keys) {
      this.#ended.add(key);
      void this.#seen(key);
    }
  }

  /** Stops sending files that are to be deleted. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      this.#jobs.get(key)?.sending?.abort(new Error('the file is deleted'));
      this.#drop(key);
    }
  }

  /** Resolves when nothing is left to send, or the store fails. */
  async idle(): Promise<void> {
    await this.#scanning;
    if (this.#sending === 0 && !this.#canSend()) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Sends what is complete for a while. The rest is left to the next start. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelLook();
    await this.#scanning;
    if (this.#isStarted)
      await waitAtMost(
        this.#options.clock,
        this.#times.flushMs,
        this.#scan().then(() => this.idle()),
      );
    this.#closed.abort(new Error('the daemon is closing'));
    this.#cancelPause();
    for (const { sending } of this.#jobs.values()) sending?.abort(this.#closed.signal.reason);
    if (this.#sending > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Looks at the disk now and again later. */
  #look(): Promise<void> {
    const { clock } = this.#options;
    const startMs = clock.nowMs();
    this.#scanning = this.#scan()
      .catch((error: unknown) => this.#warn('fault', WARN_FAULT_MS, `files wait on the disk: ${reasonOf(error)}`))
      .then(() => {
        if (this.#closed.signal.aborted || this.#closing !== null) return;
        const tookMs = clock.nowMs() - startMs;
        const pauseMs = Math.max(this.#times.scanMs, tookMs / SCAN_SHARE);
        this.#cancelLook = clock.schedule(clock.nowMs() + pauseMs, () => void this.#look());
      });
    return this.#scanning;
  }

  async #scan(): Promise<void> {
    const { local, sender } = this.#options;
    const found = new Set<string>();
    for (const folder of FOLDERS) {
      for await (const file of local.list(folder, this.#closed.signal)) {
        found.add(file.key);
        this.#note(file);
      }
    }
    if (this.#closed.signal.aborted) return;
    for (const { key, sending } of this.#jobs.values()) if (!found.has(key) && sending === null) this.#drop(key);
    this.#ready = [...this.#jobs.values()].filter((job) => this.#isReady(job)).sort(lessUrgentFirst);
    this.#warnOfMany();
    this.#pump();
    // What has been deleted leaves parts behind.
    for (const key of sender.unfinished) {
      if (!this.#jobs.has(key)) await sender.abandon(key).catch(() => undefined); // the next look tries again
    }
  }

  /** Looks at one file. */
  async #seen(key: string): Promise<void> {
    const found = await stat(this.#options.local.pathOf(key)).catch(() => null);
    if (found === null || this.#closed.signal.aborted) {
      this.#ended.delete(key);
      return;
    }
    const job = this.#note({ key, bytes: found.size, modifiedUnixMs: found.mtimeMs });
    if (job !== null && this.#isReady(job)) this.#ready.push(job);
    this.#pump();
  }

  /** Null = the file is left to retention. */
  #note({ key, bytes, modifiedUnixMs }: StoredFile): Job | null {
    const ageMs = this.#options.nowUnixMs() - modifiedUnixMs;
    if (ageMs >= this.#options.keptMs) {
      this.#drop(key);
      return null;
    }
    const isComplete = this.#ended.has(key) || ageMs >= this.#times.settledMs;
    const known = this.#jobs.get(key);
    if (known !== undefined) return Object.assign(known, { bytes, modifiedUnixMs, isComplete });
    const job = { key, bytes, modifiedUnixMs, isComplete, sending: null, failures: 0, notBeforeMs: 0 };
    this.#jobs.set(key, job);
    return job;
  }

  #isReady({ key, bytes, isComplete, sending }: Job): boolean {
    if (sending !== null) return false;
    return isComplete || (key.endsWith('.wav') && this.#options.sender.hasPart(key, bytes));
  }

  /** Whether an attempt can begin now. */
  #canSend(): boolean {
    return this.#ready.length > 0 && this.#options.clock.nowMs() >= this.#pausedUntilMs;
  }

  #pump(): void {
    const nowMs = this.#options.clock.nowMs();
    const most = this.#failures > 0 ? 1 : AT_ONCE;
    while (!this.#closed.signal.aborted && this.#sending < most && this.#canSend()) {
      const job = this.#ready.pop();
      if (job === undefined || this.#jobs.get(job.key) !== job || !this.#isReady(job) || job.notBeforeMs > nowMs)
        continue;
      void this.#run(job);
    }
    if (this.#sending > 0 || (this.#canSend() && !this.#closed.signal.aborted)) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  async #run(job: Job): Promise<void> {
    const sending = new AbortController();
    const { isComplete } = job;
    job.sending = sending;
    this.#sending++;
    try {
      if (isComplete) await this.#finish(job, sending.signal);
      else await this.#grow(job, sending.signal);
      job.failures = 0;
    } catch (error) {
      if (!sending.signal.aborted) this.#failed(job, error);
    } finally {
      job.sending = null;
      this.#sending--;
      // Its call has ended meanwhile.
      if (!isComplete && job.isComplete) this.#ready.push(job);
      this.#pump();
    }
  }

  async #grow({ key, bytes }: Job, signal: AbortSignal): Promise<void> {
    await this.#options.sender.grow(key, bytes, signal);
    this.#succeeded();
  }

  async #finish(job: Job, signal: AbortSignal): Promise<void> {
    const { key } = job;
    const { local, sender, isDeleted, isWritten, onSent, onUnwanted, clock } = this.#options;
    const path = local.pathOf(key);
    const before = await stat(path).catch(absent);
    if (before === null) return this.#discard(key);
    if (await isDeleted(key)) {
      // An earlier process may have sent it and not lived to see the deletion.
      await onUnwanted(key);
      return this.#discard(key);
    }
    if (await isWritten(key)) {
      job.notBeforeMs = clock.nowMs() + this.#times.pauseMs;
      return;
    }
    await sender.send(key, before.size, signal);
    this.#succeeded();
    // Who deletes a file asks for it first and then deletes it in the store: one of the two sees the other.
    if (await isDeleted(key)) {
      await onUnwanted(key);
      return this.#discard(key);
    }
    const after = await stat(path).catch(absent);
    // A file that has changed meanwhile is sent again.
    if (after === null || after.size !== before.size || after.mtimeMs !== before.mtimeMs) return;
    await onSent(key);
    await rm(path, { force: true });
    this.#drop(key);
    this.counts.sent++;
    this.counts.sentBytes += before.size;
  }

  async #discard(key: string): Promise<void> {
    await rm(this.#options.local.pathOf(key), { force: true });
    await this.#options.sender.abandon(key);
    this.#drop(key);
  }

  #drop(key: string): void {
    this.#jobs.delete(key);
    this.#ended.delete(key);
  }

  #succeeded(): void {
    if (this.#failures > 0) this.#options.log.write('info', `${this.#options.store} takes files again`);
    this.#failures = 0;
    this.#pausedUntilMs = 0;
  }

  #failed(job: Job, error: unknown): void {
    const { clock } = this.#options;
    this.counts.failed++;
    if (isOfStore(error)) {
      this.#failures++;
      if (this.#failures === 1) this.#options.log.write('warn', `files wait on the disk: ${reasonOf(error)}`);
      this.#pausedUntilMs = clock.nowMs() + this.#pauseMs(this.#failures);
      this.#cancelPause();
      this.#cancelPause = clock.schedule(this.#pausedUntilMs, () => this.#pump());
      this.#ready.push(job);
      return;
    }
    job.failures++;
    job.notBeforeMs = clock.nowMs() + this.#pauseMs(job.failures);
    this.#warn('fault', WARN_FAULT_MS, `${job.key} waits on the disk: ${reasonOf(error)}`);
  }

  #pauseMs(failures: number): number {
    const { pauseMs, longestPauseMs } = this.#times;
    return Math.min(longestPauseMs, pauseMs * 2 ** Math.min(30, failures - 1)) * (0.5 + this.#random.next() / 2);
  }

  #warnOfMany(): void {
    const { warnBytes, store } = this.#options;
    const { files, bytes } = this.waiting;
    if (bytes <= warnBytes) return;
    const size = `${gigabytes(bytes)} GB in ${String(files)} files`;
    const limit = `more than ${gigabytes(warnBytes)} GB (limits.waitingFileBytes)`;
    this.#warn('many', WARN_MANY_MS, `${size} wait on the disk for ${store}, ${limit}`);
  }

  /** At most one of a kind within a time. */
  #warn(kind: 'fault' | 'many', everyMs: number, text: string): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - (this.#warned.get(kind) ?? -Infinity) < everyMs) return;
    this.#warned.set(kind, nowMs);
    this.#options.log.write('warn', text);
  }
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

/** Complete files come last, of those the oldest last. */
function lessUrgentFirst(one: Job, other: Job): number {
  if (one.isComplete !== other.isComplete) return one.isComplete ? 1 : -1;
  return other.modifiedUnixMs - one.modifiedUnixMs;
}

/** Whether other files would fail, too. */
function isOfStore(error: unknown): boolean {
  if (!(error instanceof ParleyError)) return false;
  if (error.code === 'FILE_STORE_FAILED') return true;
  return error.code === 'FILE_STORE_REFUSED' && [401, 403, 404].includes(Number(error.details['status']));
}

function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
