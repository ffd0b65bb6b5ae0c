import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf } from '../../base/errors.js';

export interface ProgressFeedOptions<T> {
  clock: Clock;
  /** The progress of a campaign; null = the campaign was deleted. */
  snapshot: (campaignId: string) => Promise<T | null>;
  /** How often to look for changes that other nodes have made, ms; null = there are none. */
  pollMs: number | null;
  onError: (error: Error) => void;
}

/** Receives each new state of a campaign; null = the campaign was deleted, or the daemon closes. */
export type ProgressListener<T> = (progress: T | null) => void;

/** Changes within this time are reported together. */
const APART_MS = 250;

interface Watched<T> {
  /** With the state that each knows, as JSON. */
  listeners: Map<ProgressListener<T>, string>;
  lastMs: number;
  cancel: Cancel | null;
  cancelPoll: Cancel;
  /** Reads one state after the other. */
  reading: Promise<void>;
}

/** Reports the progress of campaigns to watchers. */
export class ProgressFeed<T> {
  readonly #options: ProgressFeedOptions<T>;
  readonly #watched = new Map<string, Watched<T>>();

  constructor(options: ProgressFeedOptions<T>) {
    this.#options = options;
  }

  /** Reports what differs from the state that the listener knows. */
  watch(campaignId: string, listener: ProgressListener<T>, known: T): Cancel {
    const watched = this.#watched.get(campaignId) ?? this.#begin(campaignId);
    watched.listeners.set(listener, JSON.stringify(known));
    // It may have changed since that state was read.
    this.changed(campaignId);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size > 0) return;
      watched.cancel?.();
      watched.cancelPoll();
      if (this.#watched.get(campaignId) === watched) this.#watched.delete(campaignId);
    };
  }

  changed(campaignId: string): void {
    const { clock, onError } = this.#options;
    const watched = this.#watched.get(campaignId);
    if (watched === undefined || watched.cancel !== null) return;
    watched.cancel = clock.schedule(Math.max(clock.nowMs(), watched.lastMs + APART_MS), () => {
      watched.cancel = null;
      watched.lastMs = clock.nowMs();
      watched.reading = watched.reading
        .then(() => this.#notify(campaignId, watched))
        .catch((error: unknown) => onError(errorOf(error)));
    });
  }

  /** Others have changed some campaign. */
  changedAll(): void {
    for (const campaignId of this.#watched.keys()) this.changed(campaignId);
  }

  /** Ends all watching, and resolves when nothing is read any more. */
  async close(): Promise<void> {
    const all = [...this.#watched.values()];
    this.#watched.clear();
    for (const { cancel, cancelPoll, listeners } of all) {
      cancel?.();
      cancelPoll();
      for (const listener of Array.from(listeners.keys())) listener(null);
    }
    await Promise.all(all.map(({ reading }) => reading));
  }

  #begin(campaignId: string): Watched<T> {
    const watched: Watched<T> = {
      listeners: new Map(),
      lastMs: -Infinity,
      cancel: null,
      cancelPoll: () => undefined,
      reading: Promise.resolve(),
    };
    this.#watched.set(campaignId, watched);
    this.#poll(campaignId, watched);
    return watched;
  }

  #poll(campaignId: string, watched: Watched<T>): void {
    const { clock, pollMs } = this.#options;
    if (pollMs === null) return;
    watched.cancelPoll = clock.schedule(clock.nowMs() + pollMs, () => {
      this.changed(campaignId);
      this.#poll(campaignId, watched);
    });
  }

  async #notify(campaignId: string, { listeners }: Watched<T>): Promise<void> {
    const progress = await this.#options.snapshot(campaignId);
    const text = JSON.stringify(progress);
    for (const [listener, known] of Array.from(listeners)) {
      if (known === text || !listeners.has(listener)) continue;
      listeners.set(listener, text);
      listener(progress);
    }
  }
}
