import type { Cancel, Clock } from '../../base/clock.js';

export interface ProgressFeedOptions<T> {
  clock: Clock;
  /** The progress of a campaign; null = the campaign was deleted. */
  snapshot: (campaignId: string) => T | null;
}

/** Receives each new state of a campaign; null = the campaign was deleted, or the daemon closes. */
export type ProgressListener<T> = (progress: T | null) => void;

/** Changes within this time are reported together. */
const APART_MS = 250;

interface Watched<T> {
  listeners: Set<ProgressListener<T>>;
  sent: string;
  lastMs: number;
  cancel: Cancel | null;
}

/** Reports the progress of campaigns to watchers. */
export class ProgressFeed<T> {
  readonly #options: ProgressFeedOptions<T>;
  readonly #watched = new Map<string, Watched<T>>();

  constructor(options: ProgressFeedOptions<T>) {
    this.#options = options;
  }

  /** Reports changes only. Callers get the current state with `progress`. */
  watch(campaignId: string, listener: ProgressListener<T>): Cancel {
    const watched = this.#watched.get(campaignId) ?? {
      listeners: new Set(),
      sent: '',
      lastMs: -Infinity,
      cancel: null,
    };
    this.#watched.set(campaignId, watched);
    watched.listeners.add(listener);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size > 0) return;
      watched.cancel?.();
      if (this.#watched.get(campaignId) === watched) this.#watched.delete(campaignId);
    };
  }

  changed(campaignId: string): void {
    const { clock } = this.#options;
    const watched = this.#watched.get(campaignId);
    if (watched === undefined || watched.cancel !== null) return;
    watched.cancel = clock.schedule(Math.max(clock.nowMs(), watched.lastMs + APART_MS), () => {
      watched.cancel = null;
      watched.lastMs = clock.nowMs();
      this.#notify(campaignId, watched);
    });
  }

  /** Ends all watching. */
  close(): void {
    for (const watched of this.#watched.values()) {
      watched.cancel?.();
      for (const listener of Array.from(watched.listeners)) listener(null);
    }
    this.#watched.clear();
  }

  #notify(campaignId: string, { listeners, ...watched }: Watched<T>): void {
    const progress = this.#options.snapshot(campaignId);
    const text = JSON.stringify(progress);
    if (text === watched.sent) return;
    const kept = this.#watched.get(campaignId);
    if (kept !== undefined) kept.sent = text;
    for (const listener of Array.from(listeners)) listener(progress);
  }
}
