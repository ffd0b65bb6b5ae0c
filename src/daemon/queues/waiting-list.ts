/** What decides whose turn it is. */
export interface QueuePlace {
  /** The session that the call gets. */
  readonly id: string;
  readonly queueId: string;
  /** When the call came, by the engine's clock. */
  readonly sinceMs: number;
  /** Minutes that the call is ahead of those that come at the same time; may be negative. */
  priority: number;
}

const MINUTE_MS = 60_000;

/**
 * Waiting calls in the order of their turns. A point of priority counts like a minute of waiting. So the order of two
 * calls never changes by itself, calls of one priority come in the order of their arrival, and each call comes before all
 * that arrive late enough: nobody waits for ever.
 */
export class WaitingList<T extends QueuePlace> {
  #places: T[] = [];

  get size(): number {
    return this.#places.length;
  }

  /** In the order of their turns. */
  all(): readonly T[] {
    return this.#places;
  }

  of(queueId: string): T[] {
    return this.#places.filter((place) => place.queueId === queueId);
  }

  find(id: string): T | null {
    return this.#places.find((place) => place.id === id) ?? null;
  }

  add(place: T): void {
    const at = this.#places.findIndex((other) => dueMs(other) > dueMs(place));
    this.#places.splice(at === -1 ? this.#places.length : at, 0, place);
  }

  /** Returns whether it was there. */
  remove(id: string): boolean {
    const count = this.#places.length;
    this.#places = this.#places.filter((place) => place.id !== id);
    return this.#places.length < count;
  }

  /** Moves a call to where its new priority puts it. */
  prioritise(place: T, priority: number): void {
    this.remove(place.id);
    place.priority = priority;
    this.add(place);
  }

  /** The place in its queue, counted from 1; 0 = it waits no longer. */
  positionOf(place: T): number {
    return this.of(place.queueId).indexOf(place) + 1;
  }
}

function dueMs({ sinceMs, priority }: QueuePlace): number {
  return sinceMs - priority * MINUTE_MS;
}

/** Calls that have ended, for an estimate of the next waits. */
const KEPT = 50;
/** An estimate needs as many. */
const ENOUGH = 3;

/** The lengths of the latest calls. */
export class CallLengths {
  readonly #latestMs: number[] = [];

  add(lengthMs: number): void {
    this.#latestMs.push(lengthMs);
    if (this.#latestMs.length > KEPT) this.#latestMs.shift();
  }

  /**
   * The expected wait of the call at a place, if as many calls as `servers` are answered at once and all are busy: one of
   * them ends every mean length / servers. Null = too few calls have ended to tell.
   * @param place counted from 1
   */
  waitMs(place: number, servers: number): number | null {
    const count = this.#latestMs.length;
    if (count < ENOUGH || servers < 1) return null;
    return (place * this.#latestMs.reduce((sum, ms) => sum + ms, 0)) / count / servers;
  }
}
