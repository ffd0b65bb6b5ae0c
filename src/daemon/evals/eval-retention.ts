import type { Clock } from '../../base/clock.js';
import type { EvalRunStore } from '../../store/eval-runs.js';
import { DailyPurge, DAY_MS } from '../daily-purge.js';
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

/** Deletes old runs with their calls at the start and daily. */
export class EvalRetention {
  readonly #options: EvalRetentionOptions;
  readonly #daily: DailyPurge;

  constructor(options: EvalRetentionOptions) {
    this.#options = options;
    this.#daily = new DailyPurge(options.clock, () => this.purge(), options.onError);
  }

  start(): void {
    this.#daily.start();
  }

  /** Deletes what is too old now. */
  async purge(): Promise<void> {
    const { store, runs, nowUnixMs, days } = this.#options;
    await this.#daily.inBatches(
      () => store.endedBefore(nowUnixMs() - days * DAY_MS, 1),
      async ([id]) => {
        if (id !== undefined) await runs.remove(id);
      },
    );
  }

  /** May be called twice. Resolves when no deletion runs. */
  close(): Promise<void> {
    return this.#daily.close();
  }
}
