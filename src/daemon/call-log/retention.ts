import { type Cancel, type Clock, delay } from '../../base/clock.js';
import type { CallStore, StoredCall } from '../../store/calls.js';
import type { CallFiles, RemovedFiles } from './call-files.js';
import { errorOf } from '../../base/errors.js';

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

const DAY_MS = 86_400_000;
/** Calls that one transaction deletes. It takes a few milliseconds, see docs/benchmarks.md. */
const BATCH = 10;
/** A pause between two transactions lets other work run. */
const PAUSE_MS = 20;

/** Deletes old calls, recordings and traces at the start and daily. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #closed = new AbortController();
  #cancel: Cancel = () => undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#closed.signal.aborted) return;
    const { clock, onError } = this.#options;
    this.#cancel = clock.schedule(clock.nowMs() + DAY_MS, () => this.start());
    // One purge at a time.
    this.#running = this.#running
      .then(() => this.purge())
      .catch((error: unknown) => {
        if (!this.#closed.signal.aborted) onError(errorOf(error));
      });
  }

  /** Deletes what is too old now. */
  async purge(): Promise<Purged> {
    const { store, files, nowUnixMs, days, recordingDays, onError } = this.#options;
    const callsUnixMs = nowUnixMs() - days * DAY_MS;
    const filesUnixMs = Math.max(callsUnixMs, nowUnixMs() - recordingDays * DAY_MS);
    const purged: Purged = { calls: 0, recordings: 0, traces: 0 };
    const removeFiles = async (calls: readonly StoredCall[]): Promise<void> => {
      for (const call of calls) {
        try {
          const { recordings, traces } = await files.remove(call);
          purged.recordings += recordings;
          purged.traces += traces;
        } catch (error) {
          onError(errorOf(error)); // the call is deleted anyway; `sweep` finds the file later
        }
      }
    };
    await this.#inBatches(
      () => store.endedBefore(callsUnixMs * 1000, BATCH),
      async (calls) => {
        await removeFiles(calls);
        purged.calls += store.removeLazily(calls);
      },
    );
    await this.#inBatches(
      () => store.recordedBefore(filesUnixMs * 1000, BATCH),
      async (calls) => {
        await removeFiles(calls);
        store.forgetRecordings(calls);
      },
    );
    // Traces of calls without a recording, and files without a call.
    const swept = await files.sweep(filesUnixMs, this.#closed.signal);
    return { ...purged, recordings: purged.recordings + swept.recordings, traces: purged.traces + swept.traces };
  }

  /** May be called twice. Resolves when no deletion runs. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#cancel();
    await this.#running;
  }

  /** Deletes a few calls at a time, with pauses for other work. */
  async #inBatches(next: () => StoredCall[], work: (calls: readonly StoredCall[]) => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    for (let calls = next(); calls.length > 0 && !this.#closed.signal.aborted; calls = next()) {
      await work(calls);
      await delay(clock, PAUSE_MS, this.#closed.signal).catch(() => undefined);
    }
  }
}
