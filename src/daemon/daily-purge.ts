import { type Cancel, type Clock, delay } from '../base/clock.js';
import { errorOf } from '../base/errors.js';
import type { Lease, Leases } from '../store/leases.js';

/** How long a day is, in ms. */
export const DAY_MS = 86_400_000;
/** A pause between two deletions lets other work run. */
const PAUSE_MS = 20;

export interface DailyPurgeOptions {
  clock: Clock;
  /** Of all nodes, one deletes. */
  leases: Pick<Leases, 'lead'>;
  /** The lease: the same on all nodes. */
  name: string;
  purge: () => Promise<unknown>;
  onError: (error: Error) => void;
}

/** Deletes what is too old, at the start and daily, while this node has the lease. */
export class DailyPurge {
  readonly #options: DailyPurgeOptions;
  /** Aborts when nothing more is to be deleted, or another node does it. */
  #lost: AbortSignal;
  readonly #closing = new AbortController();
  #lease: Lease | null = null;
  #cancel: Cancel = () => undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: DailyPurgeOptions) {
    this.#options = options;
    this.#lost = this.#closing.signal;
  }

  /** Whether this node deletes for all. */
  get isLeading(): boolean {
    return this.#lease?.isHeld === true;
  }

  /** Aborts when nothing more is to be deleted. */
  get closed(): AbortSignal {
    return this.#lost;
  }

  start(): void {
    if (this.#closing.signal.aborted) return;
    const { leases, name } = this.#options;
    this.#lease ??= leases.lead(name, (lost) => this.#lead(lost));
  }

  /** Resolves when it has lost the lease and no deletion runs. */
  async #lead(lost: AbortSignal): Promise<void> {
    this.#lost = lost;
    this.#again();
    if (!lost.aborted) await new Promise((resolve) => lost.addEventListener('abort', resolve, { once: true }));
    this.#cancel();
    await this.#running;
  }

  #again(): void {
    const { clock, purge, onError } = this.#options;
    if (this.#lost.aborted) return;
    this.#cancel = clock.schedule(clock.nowMs() + DAY_MS, () => this.#again());
    // One purge at a time.
    this.#running = this.#running.then(purge).catch((error: unknown) => {
      if (!this.#lost.aborted) onError(errorOf(error));
    });
  }

  /** Deletes a few at a time, with pauses for other work. */
  async inBatches<T>(next: () => Promise<readonly T[]>, work: (batch: readonly T[]) => Promise<void>): Promise<void> {
    for (let batch = await next(); batch.length > 0 && !this.closed.aborted; batch = await next()) {
      await work(batch);
      await delay(this.#options.clock, PAUSE_MS, this.closed).catch(() => undefined);
    }
  }

  /** May be called twice. Resolves when no deletion runs. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#lease?.release();
  }
}
