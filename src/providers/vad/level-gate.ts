/** Whether a window is loud enough, beside the noise of its line, for somebody to be speaking in it. */

/** So much louder than the line's noise, dB. */
const MARGIN_DB = 5;
/** Never loud: the level of differences between samples, dB over one step of 16 bits. A whisper on a good line has 20. */
const LEAST_DB = 12;
/** How the noise is followed, dB a window: up while nobody speaks for sure, up while it is not known, and down by share. */
const RISE_SILENT_DB = 1;
const RISE_DB = 0.05;
const FALL_SHARE = 0.3;
/** A probability from which it is speech that is loud, and one up to which it is noise. */
const SPEECH = 0.35;
const SILENCE = 0.1;

/**
 * Follows the noise of a line and tells what stands out from it. It compares neighbouring samples, so that hum counts for
 * little and the hiss of an "s" for much.
 */
export class LevelGate {
  #noiseDb = LEAST_DB - MARGIN_DB;
  #db = 0;
  /** Of the window so far: squared differences, the last sample, and how many there were. */
  #sum = 0;
  #last = 0;
  #count = 0;

  /** More of the window: `samples[from..to)`. */
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

  /** Whether the window, which is whole now, stands out. */
  standsOut(): boolean {
    this.#db = 10 * Math.log10(this.#sum / this.#count + 1);
    this.#sum = 0;
    this.#count = 0;
    if (this.#db < this.#noiseDb) this.#noiseDb += (this.#db - this.#noiseDb) * FALL_SHARE;
    else this.#raise(RISE_DB);
    return this.#db > Math.max(this.#noiseDb + MARGIN_DB, LEAST_DB);
  }

  /** The last window's probability of speech, by somebody who listened to it: what is no speech is noise. */
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
