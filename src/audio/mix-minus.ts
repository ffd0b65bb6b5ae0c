import { fadeOut } from './dsp/fade.js';
import { mix } from './dsp/mix.js';
import { type Resampler, resamplerBetween } from './dsp/resample.js';
import { frameSamples, msToSamples } from './frame.js';

/** Fade at the end of a source's audio, and where audio is left out. */
const FADE_MS = 5;
/** Audio beyond this is dropped at once: the source has sent a burst. */
const MAX_MS = 300;
/** A source whose audio always waits longer than it needs to, for this many frames, runs fast: some of it is left out. */
const WATCHED_FRAMES = 250;
const SPARE_MS = 30;

/** How late a source's audio is heard, so that its pieces join in spite of jitter. Default 40 ms. */
export const JITTER_MS = 40;

/**
 * One source of a mix, at the rate of the mix: takes pieces of any length as they come, and gives a frame a tick. After
 * silence it waits until it has as much audio as its jitter needs.
 */
class MixInput {
  readonly #rateHz: number;
  readonly #needed: number;
  #fromHz = 0;
  #resampler: Resampler | null = null;
  #samples = new Int16Array(0);
  #isFlowing = false;
  /** The least that waited after a frame, over the latest frames. */
  #least = Infinity;
  #watched = 0;

  constructor(rateHz: number, jitterMs: number) {
    this.#rateHz = rateHz;
    this.#needed = msToSamples(jitterMs, rateHz);
  }

  push(samples: Int16Array, fromHz: number): void {
    if (fromHz !== this.#fromHz) {
      this.#fromHz = fromHz;
      this.#resampler = resamplerBetween(fromHz, this.#rateHz);
    }
    const more = this.#resampler === null ? samples : this.#resampler.process(samples);
    const joined = new Int16Array(this.#samples.length + more.length);
    joined.set(this.#samples);
    joined.set(more, this.#samples.length);
    const isBurst = joined.length > msToSamples(MAX_MS, this.#rateHz);
    this.#samples = isBurst ? joined.slice(joined.length - this.#needed - more.length) : joined;
  }

  /** The next frame; null = silence. */
  take(length: number): Int16Array | null {
    const waiting = this.#samples;
    if (!this.#isFlowing && waiting.length < Math.max(1, this.#needed)) return null;
    this.#isFlowing = waiting.length >= length;
    const frame = new Int16Array(length);
    frame.set(waiting.subarray(0, length));
    this.#samples = waiting.slice(length);
    if (!this.#isFlowing) {
      fadeOut(frame.subarray(0, waiting.length), msToSamples(FADE_MS, this.#rateHz));
      this.#forget();
    } else this.#watch();
    return frame.some((sample) => sample !== 0) ? frame : null;
  }

  /** Leaves out what waits longer than it needs to: the clocks of the two lines differ. */
  #watch(): void {
    this.#least = Math.min(this.#least, this.#samples.length);
    if (++this.#watched < WATCHED_FRAMES) return;
    const excess = this.#least - this.#needed;
    this.#forget();
    if (excess <= msToSamples(SPARE_MS, this.#rateHz)) return;
    const fade = Math.min(msToSamples(FADE_MS, this.#rateHz), this.#samples.length - excess);
    const rest = this.#samples.slice(excess);
    for (let i = 0; i < fade; i++) {
      const share = (i + 1) / (fade + 1);
      rest[i] = Math.round(this.#samples[i]! * (1 - share) + rest[i]! * share);
    }
    this.#samples = rest;
  }

  #forget(): void {
    this.#least = Infinity;
    this.#watched = 0;
  }
}

/**
 * What one party of a call hears: the sum of the others, without itself (mix-minus). Each source has its own rate and
 * its own jitter. Sums below -2 dBFS are exact; louder ones are bent towards full scale.
 */
export class MixMinus {
  readonly #rateHz: number;
  readonly #length: number;
  readonly #inputs = new Map<string, MixInput>();

  constructor(rateHz: number) {
    this.#rateHz = rateHz;
    this.#length = frameSamples(rateHz);
  }

  /** Audio of a source, which may be overwritten afterwards. `jitterMs`: how late it is heard. */
  push(from: string, samples: Int16Array, rateHz: number, jitterMs = JITTER_MS): void {
    let input = this.#inputs.get(from);
    if (input === undefined) {
      input = new MixInput(this.#rateHz, jitterMs);
      this.#inputs.set(from, input);
    }
    input.push(samples, rateHz);
  }

  /** Forgets a source, with what is left of it. */
  drop(from: string): void {
    this.#inputs.delete(from);
  }

  /**
   * The next 20 ms; null = silence.
   * @param base a frame that is exactly now; it is returned itself if nothing else sounds
   */
  pull(base: Int16Array | null = null): Int16Array | null {
    const sources = base === null ? [] : [base];
    for (const input of this.#inputs.values()) {
      const frame = input.take(this.#length);
      if (frame !== null) sources.push(frame);
    }
    const [first, second] = sources;
    if (first === undefined || second === undefined) return first ?? null;
    const out = new Int16Array(this.#length);
    mix(out, sources);
    return out;
  }
}
