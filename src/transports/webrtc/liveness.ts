/** How often it is to be looked. */
export const LOOK_MS = 1_000;
/** A look that comes later than this finds that we were held up ourselves, not the other side. */
const MAX_BETWEEN_LOOKS_MS = 2 * LOOK_MS;

/**
 * Whether anything still comes from the other side. A muted microphone is no silence here: who is there keeps asking for
 * our consent to be sent to (RFC 7675, 5.1) and answers when we ask, every 4 to 6 s both.
 */
export class Liveness {
  readonly #limitMs: number;
  #count = -1;
  #silentMs = 0;
  #atMs: number;

  /** @param limitMs silence of so long means that nobody is there */
  constructor(limitMs: number, nowMs: number) {
    this.#limitMs = limitMs;
    this.#atMs = nowMs;
  }

  /** @param count all that has come so far; false: nothing has for too long */
  look(count: number, nowMs: number): boolean {
    this.#silentMs = count === this.#count ? this.#silentMs + Math.min(nowMs - this.#atMs, MAX_BETWEEN_LOOKS_MS) : 0;
    this.#count = count;
    this.#atMs = nowMs;
    return this.#silentMs < this.#limitMs;
  }
}
