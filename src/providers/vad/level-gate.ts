/** Whether a window is loud enough, relative to the line's noise, to contain speech. */

/** Required level above the line's noise, dB. */
const MARGIN_DB = 5;
/** Minimum level of differences between samples, dB over one 16-bit step. A whisper on a good line has 20. */
const LEAST_DB = 12;
/** Change of the noise estimate per window: rise in certain silence and otherwise (dB), and fall (share). */
const RISE_SILENT_DB = 1;
const RISE_DB = 0.05;
const FALL_SHARE = 0.3;
/** Probability from which a window counts as speech, and up to which it counts as silence. */
const SPEECH = 0.35;
const SILENCE = 0.1;

/**
 * Estimates the noise of a line and detects windows above it. Measures differences of neighbouring samples, so that hum
 * counts little and the hiss of an "s" much.
 */
export class LevelGate {
  #noiseDb = LEAST_DB - MARGIN_DB;
  #db = 0;
  /** The window so far: sum of squared differences, last sample, number of samples. */
  #sum = 0;
  #last = 0;
  #count = 0;

  /** Adds `samples[from..to)` to the window. */
  push(samples: Int16Array, from = 0, to = samples.length): void {
    let sum = this.#sum;
    let before = this.#count === 0 ? (samples[from] ?? 0) : this.#last;
    for (let i = from; i < to; i++) {
      const sample = samples[i]!;
      sum += (sample - before) * (sample - before);
      before = sample;
    }
    this.#sum = sum;
    this.#last = before;
    this.#count += to - from;
  }

  /** Ends the window. Whether it is louder than the noise. */
  standsOut(): boolean {
    this.#db = 10 * Math.log10(this.#sum / this.#count + 1);
    this.#sum = 0;
    this.#count = 0;
    if (this.#db < this.#noiseDb) this.#noiseDb += (this.#db - this.#noiseDb) * FALL_SHARE;
    else this.#raise(RISE_DB);
    return this.#db > Math.max(this.#noiseDb + MARGIN_DB, LEAST_DB);
  }

  /** Takes a detector's probability of speech in the last window: silence updates the noise estimate. */
  heard(probability: number): void {
    if (probability <= SILENCE) this.#raise(RISE_SILENT_DB);
    else if (probability >= SPEECH) this.#raise(-RISE_DB);
  }

  reset(): void {
    this.#noiseDb = LEAST_DB - MARGIN_DB;
    this.#sum = 0;
    this.#count = 0;
  }

  #raise(db: number): void {
    if (this.#db > this.#noiseDb) this.#noiseDb += Math.min(db, this.#db - this.#noiseDb);
  }
}
