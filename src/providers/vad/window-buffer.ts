/** Cuts a stream that comes in pieces of any length into windows of one length, and counts where they end. */
export class WindowBuffer {
  /** The window that is being filled, whole whenever `onFull` is called. */
  readonly window: Int16Array<ArrayBuffer>;
  readonly #onFull: (endSample: number) => void;
  #filled = 0;
  #endSample = 0;

  /**
   * @param windowSamples length of a window
   * @param onFull called for each window, with the position just after it since the start or the last `reset`
   */
  constructor(windowSamples: number, onFull: (endSample: number) => void) {
    this.window = new Int16Array(windowSamples);
    this.#onFull = onFull;
  }

  /** Takes any number of samples and calls `onFull`, synchronously, for each window they complete. */
  push(samples: Int16Array): void {
    const window = this.window;
    for (let at = 0; at < samples.length;) {
      const filled = this.#filled;
      const count = Math.min(window.length - filled, samples.length - at);
      for (let i = 0; i < count; i++) window[filled + i] = samples[at + i]!;
      at += count;
      this.#filled += count;
      if (this.#filled < window.length) return;
      // Kept up to date before the call, so that one which throws leaves the buffer sound.
      this.#filled = 0;
      this.#endSample += window.length;
      this.#onFull(this.#endSample);
    }
  }

  /** Forgets the samples of an unfinished window and counts from 0 again. */
  reset(): void {
    this.#filled = 0;
    this.#endSample = 0;
  }
}
