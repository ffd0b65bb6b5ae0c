/** So many failures one after another open it. */
const FAILURES = 3;
/** How long it stays open at first, and at most: each trial that fails doubles it. */
const FIRST_OPEN_MS = 10_000;
const MAX_OPEN_MS = 300_000;

/**
 * A circuit breaker: after some failures in a row a provider is left alone for a while, and then tried with one request.
 * Time is passed in.
 */
export class Breaker {
  #failures = 0;
  #openMs = 0;
  #openUntilMs: number | null = null;
  #trying = false;

  /** Whether it may be asked. A trial that nobody begins changes nothing. */
  allows(nowMs: number): boolean {
    if (this.#openUntilMs === null) return true;
    return nowMs >= this.#openUntilMs && !this.#trying;
  }

  get isOpen(): boolean {
    return this.#openUntilMs !== null;
  }

  /** A request goes out. */
  begin(nowMs: number): void {
    if (this.#openUntilMs !== null && nowMs >= this.#openUntilMs) this.#trying = true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openMs = 0;
    this.#openUntilMs = null;
    this.#trying = false;
  }

  /** @param isFinal trying again cannot help: a refused key */
  failed(nowMs: number, isFinal = false): void {
    this.#failures++;
    const wasTrial = this.#trying;
    this.#trying = false;
    if (!isFinal && !wasTrial && this.#failures < FAILURES) return;
    this.#openMs = Math.min(MAX_OPEN_MS, this.#openMs === 0 ? FIRST_OPEN_MS : this.#openMs * 2);
    this.#openUntilMs = nowMs + this.#openMs;
  }

  /** Nobody learned anything: the request was given up for reasons of our own. */
  abandoned(): void {
    this.#trying = false;
  }
}
