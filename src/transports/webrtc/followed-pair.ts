/** A way to the other end, as werift has it. */
export interface Pair {
  /** Checks of the other end that came over it. */
  readonly requestsReceived: number;
  readonly state: number;
}

/** Our own check of the way was answered with the other end's password (werift's CandidatePairState.SUCCEEDED). */
const CHECKED = 3;

export interface Ways<P extends Pair> {
  readonly candidatePairs: readonly P[];
  /** The way that is used. */
  nominated?: P;
}

/** The other end checks a way that it uses every few seconds (RFC 7675, 5.1: 6 s at most). */
const UNUSED_MS = 8_000;

/**
 * Follows the other end to the way that it uses. Browsers change it when they find a better one, and give up the old one
 * after a while, above all after an ICE restart; werift stays with the first.
 */
export class FollowedPair<P extends Pair> {
  /** When a check came over a way last, and how many had by then. */
  readonly #checked = new Map<P, { count: number; atMs: number }>();

  /** To be called every second or so. */
  look(ways: Ways<P>, nowMs: number): void {
    for (const pair of ways.candidatePairs) {
      if (this.#checked.get(pair)?.count === pair.requestsReceived) continue;
      this.#checked.set(pair, { count: pair.requestsReceived, atMs: nowMs });
    }
    for (const pair of this.#checked.keys()) if (!ways.candidatePairs.includes(pair)) this.#checked.delete(pair);
    if (ways.nominated === undefined || nowMs - this.#atMs(ways.nominated) < UNUSED_MS) return;
    const used = ways.candidatePairs.filter((pair) => pair.requestsReceived > 0 && pair.state === CHECKED);
    const newest = used.reduce<P | null>(
      (best, pair) => (best && this.#atMs(best) >= this.#atMs(pair) ? best : pair),
      null,
    );
    if (newest !== null && nowMs - this.#atMs(newest) < UNUSED_MS) ways.nominated = newest;
  }

  #atMs(pair: P): number {
    return this.#checked.get(pair)?.atMs ?? Number.NEGATIVE_INFINITY;
  }
}
