/** Cuts a stream that comes in pieces of any length into windows of one length, and counts where they end. */
export class WindowBuffer {
  /** The window that is being filled and those before it, in a ring. */
  readonly #ring: Int16Array<ArrayBuffer>;
  readonly #windowSamples: number;
  readonly #onFull: (endSample: number) => void;
  /** Start in the ring of the window being filled, and of the last full one. */
  #begin = 0;
  #fullBegin = 0;
  #filled = 0;
  #endSample = 0;

  /**
   * @param windowSamples length of a window
   * @param onFull called for each window, with the position just after it since the start or the last `reset`
   * @param kept how many windows before it are kept; default 0
   */
  constructor(windowSamples: number, onFull: (endSample: number) => void, kept = 0) {
    this.#ring = new Int16Array((1 + kept) * windowSamples);
    this.#windowSamples = windowSamples;
    this.#onFull = onFull;
  }

  /** The window that is full, for `onFull`. Where none are kept it is always the same array. */
  get window(): Int16Array<ArrayBuffer> {
    return this.#ring.length === this.#windowSamples ? this.#ring : this.before(0);
  }

  /** The n-th window before that, 0 to `kept`; for `onFull`. */
  before(n: number): Int16Array<ArrayBuffer> {
    const { length } = this.#ring;
    const begin = (this.#fullBegin - n * this.#windowSamples + length) % length;
    return this.#ring.subarray(begin, begin + this.#windowSamples);
  }

  /** How many samples the window has room for. */
  get room(): number {
    return this.#windowSamples - this.#filled;
  }

  /** Takes `samples[from..to)` and calls `onFull`, synchronously, for each window they complete. */
  push(samples: Int16Array, from = 0, to = samples.length): void {
    const ring = this.#ring;
    for (let at = from; at < to;) {
      const target = this.#begin + this.#filled;
      const count = Math.min(this.room, to - at);
      for (let i = 0; i < count; i++) ring[target + i] = samples[at + i]!;
      at += count;
      this.#filled += count;
      if (this.room > 0) return;
      this.#full();
    }
  }

  /** Forgets the samples of an unfinished window and counts from 0 again. */
  reset(): void {
    this.#filled = 0;
    this.#endSample = 0;
  }

  #full(): void {
    // Kept up to date before the call, so that one which throws, or brings more samples, leaves the buffer sound.
    this.#filled = 0;
    this.#endSample += this.#windowSamples;
    this.#fullBegin = this.#begin;
    this.#begin = (this.#begin + this.#windowSamples) % this.#ring.length;
    this.#onFull(this.#endSample);
  }
}
