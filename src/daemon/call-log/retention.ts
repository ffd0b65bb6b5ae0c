import type { Clock } from '../../base/clock.js';
import type { CallStore, StoredCall } from '../../store/calls.js';
import type { CallFiles, RemovedFiles } from '../files/call-files.js';
import { errorOf } from '../../base/errors.js';
import { DailyPurge, DAY_MS } from '../daily-purge.js';

export interface RetentionOptions {
  store: Pick<CallStore, 'endedBefore' | 'recordedBefore' | 'forgetRecordings' | 'removeLazily'>;
  files: CallFiles;
  clock: Clock;
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

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#daily = new DailyPurge(options.clock, () => this.purge(), options.onError);
  }

  start(): void {
    this.#daily.start();
  }

  /** Deletes what is too old now. */
  async purge(): Promise<Purged> {
    const { store, files, nowUnixMs, days, recordingDays, onError } = this.#options;
    const callsUnixMs = nowUnixMs() - days * DAY_MS;
    const filesUnixMs = Math.max(callsUnixMs, nowUnixMs() - recordingDays * DAY_MS);
    const purged: Purged = { calls: 0, recordings: 0, traces: 0 };
    const add = ({ recordings, traces }: RemovedFiles): void => {
      purged.recordings += recordings;
      purged.traces += traces;
    };
    const removeFiles = async (calls: readonly StoredCall[]): Promise<void> => {
      try {
        add(await files.expire(calls));
      } catch (error) {
        onError(errorOf(error)); // the calls are deleted anyway; the sweeps find the files later
      }
    };
    await this.#daily.inBatches(
      () => store.endedBefore(callsUnixMs * 1000, BATCH),
      async (calls) => {
        await removeFiles(calls);
        purged.calls += store.removeLazily(calls);
      },
    );
    await this.#daily.inBatches(
      () => store.recordedBefore(filesUnixMs * 1000, BATCH),
      async (calls) => {
        await removeFiles(calls);
        store.forgetRecordings(calls);
      },
    );
    // Traces of calls without a recording, and files without a call.
    add(await files.sweep(filesUnixMs, this.#daily.closed));
    add(await files.sweepStore(filesUnixMs, nowUnixMs(), this.#daily.closed));
    return purged;
  }

  /** May be called twice. Resolves when no deletion runs. */
  close(): Promise<void> {
    return this.#daily.close();
  }
}
