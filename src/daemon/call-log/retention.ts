import type { Clock } from '../../base/clock.js';
import type { CallStore, StoredCall } from '../../store/calls.js';
import type { CallFiles, RemovedFiles } from '../files/call-files.js';
import { type Leases, SoleLeases } from '../../store/leases.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { DailyPurge, DAY_MS } from '../daily-purge.js';

export interface RetentionOptions {
  store: Pick<CallStore, 'endedBefore' | 'recordedBefore' | 'forgetRecordings' | 'removeLazily'>;
  files: CallFiles;
  clock: Clock;
  leases: Pick<Leases, 'lead'>;
  nowUnixMs: () => number;
  /** How long calls are kept. */
  days: number;
  /** How long recordings and traces are kept. Never longer than the calls. */
  recordingDays: number;
  onError: (error: Error) => void;
}

/** Counts of deleted items. */
export interface Purged extends RemovedFiles {
  calls: number;
}

/** Calls that one transaction deletes. It takes a few milliseconds, see docs/benchmarks.md. */
const BATCH = 10;

/** Deletes old calls, recordings and traces at the start and daily. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #daily: DailyPurge;
  /** Files in the data folder of a node that does not delete for all. */
  readonly #own: DailyPurge;

  constructor(options: RetentionOptions) {
    this.#options = options;
    const { clock, leases, onError } = options;
    this.#daily = new DailyPurge({ clock, leases, name: 'retention of calls', purge: () => this.purge(), onError });
    const purge = async (): Promise<void> => {
      if (!this.#daily.isLeading) await this.#sweep(this.#own.closed);
    };
    this.#own = new DailyPurge({ clock, leases: new SoleLeases(), name: 'retention of files', purge, onError });
  }

  start(): void {
    this.#daily.start();
    this.#own.start();
  }

  /** Deletes what is too old now. */
  async purge(): Promise<Purged> {
    const { store, files, nowUnixMs } = this.#options;
    const { callsUnixMs, filesUnixMs } = this.#limits();
    const purged: Purged = { calls: 0, recordings: 0, traces: 0 };
    const add = ({ recordings, traces }: RemovedFiles): void => {
      purged.recordings += recordings;
      purged.traces += traces;
    };
    const removeFiles = async (calls: readonly StoredCall[]): Promise<void> => {
      // The calls are deleted anyway: the sweeps find what is left of their files.
      await files.expire(calls).then(add, (error: unknown) => this.#report(error));
    };
    await this.#daily.inBatches(
      async () => store.endedBefore(callsUnixMs * 1000, BATCH),
      async (calls) => {
        await removeFiles(calls);
        purged.calls += await store.removeLazily(calls);
      },
    );
    await this.#daily.inBatches(
      async () => store.recordedBefore(filesUnixMs * 1000, BATCH),
      async (calls) => {
        await removeFiles(calls);
        await store.forgetRecordings(calls);
      },
    );
    // Traces of calls without a recording, and files without a call.
    add(await this.#sweep(this.#daily.closed));
    await files
      .sweepStore(filesUnixMs, nowUnixMs(), this.#daily.closed)
      .then(add, (error: unknown) => this.#report(error));
    return purged;
  }

  /** Deletes old files of this node's data folder. */
  #sweep(signal: AbortSignal): Promise<RemovedFiles> {
    return this.#options.files.sweep(this.#limits().filesUnixMs, signal);
  }

  /** Calls and files before these times are too old, in ms since 1970. */
  #limits(): { callsUnixMs: number; filesUnixMs: number } {
    const { nowUnixMs, days, recordingDays } = this.#options;
    const callsUnixMs = nowUnixMs() - days * DAY_MS;
    return { callsUnixMs, filesUnixMs: Math.max(callsUnixMs, nowUnixMs() - recordingDays * DAY_MS) };
  }

  /** A store that is away is no fault of ours, and the next run finds what this one has left. */
  #report(error: unknown): void {
    const isAway = error instanceof ParleyError && error.code === 'FILE_STORE_FAILED';
    if (!isAway) this.#options.onError(errorOf(error));
  }

  /** May be called twice. Resolves when no deletion runs. */
  async close(): Promise<void> {
    await Promise.all([this.#daily.close(), this.#own.close()]);
  }
}
