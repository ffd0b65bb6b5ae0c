import { type Cancel, type Clock, delay } from '../../base/clock.js';
import { errorOf } from '../../base/errors.js';
import type { EvalRunStore } from '../../store/eval-runs.js';
import type { EvalRuns } from './eval-runs.js';

export interface EvalRetentionOptions {
  store: Pick<EvalRunStore, 'endedBefore'>;
  runs: Pick<EvalRuns, 'remove'>;
  clock: Clock;
  nowUnixMs: () => number;
  /** How long runs are kept. */
  days: number;
  onError: (error: Error) => void;
}

const DAY_MS = 86_400_000;
/** A pause between two deletions lets other work run. */
const PAUSE_MS = 20;

/** Deletes old runs with their calls at the start and daily. */
export class EvalRetention {
  readonly #options: EvalRetentionOptions;
  readonly #closed = new AbortController();
  #cancel: Cancel = () => undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: EvalRetentionOptions) {
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
  async purge(): Promise<void> {
    const { store, runs, clock, nowUnixMs, days } = this.#options;
    const next = (): string | undefined => store.endedBefore(nowUnixMs() - days * DAY_MS, 1)[0];
    for (let id = next(); id !== undefined && !this.#closed.signal.aborted; id = next()) {
      await runs.remove(id);
      await delay(clock, PAUSE_MS, this.#closed.signal).catch(() => undefined);
    }
  }

  /** May be called twice. Resolves when no deletion runs. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#cancel();
    await this.#running;
  }
}
