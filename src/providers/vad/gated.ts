import type { VadDetector, VadProvider } from './vad.js';
import { WindowBuffer } from './silero/window-buffer.js';

/** A detector that rests while a line is silent, for machines with many calls: most lines are mostly silent. */

/** Windows before the gate opens that the detector gets at once. With 4 it detected some voices later. */
const LEAD_WINDOWS = 16;
/** The gate closes after this many consecutive quiet windows without speech: half a second. */
const CLOSE_WINDOWS = 16;
/** Probability up to which the detector found no speech. */
const SILENCE = 0.1;

/**
 * Another provider's detector behind a `LevelGate`. It gets the windows above the line's noise, with a lead; all others
 * have probability 0.
 */
export class GatedVad implements VadProvider {
  readonly name: string;
  readonly #inner: VadProvider;

  constructor(name: string, inner: VadProvider) {
    this.name = name;
    this.#inner = inner;
  }

  warmUp(): Promise<void> {
    return this.#inner.warmUp();
  }

  createDetector(): GatedDetector {
    return new GatedDetector(this.#inner.createDetector());
  }
}

export class GatedDetector implements VadDetector {
  readonly windowSamples: number;
  readonly #inner: VadDetector;
  readonly #gate = new LevelGate();
  readonly #windows: WindowBuffer;
  /** Consecutive windows that the inner detector did not get. */
  #withheld = 0;
  #isOpen = false;
  #isClosed = false;
  #quiet = 0;
  #probability = 0;
  #onWindow: ((probability: number, endSample: number) => void) | null = null;
  /** Windows that the inner detector was spared. */
  spared = 0;

  constructor(inner: VadDetector) {
    this.#inner = inner;
    this.windowSamples = inner.windowSamples;
    this.#windows = new WindowBuffer(this.windowSamples, (endSample) => this.#take(endSample), LEAD_WINDOWS);
  }

  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void {
    if (this.#isClosed) return;
    this.#onWindow = onWindow;
    for (let at = 0; at < samples.length;) {
      const end = Math.min(samples.length, at + this.#windows.room);
      // Now, while they are at hand: in a call among hundreds, going back to them is what would take time.
      this.#gate.push(samples, at, end);
      this.#windows.push(samples, at, end);
      at = end;
    }
  }

  reset(): void {
    this.#inner.reset();
    this.#gate.reset();
    this.#windows.reset();
    this.#isOpen = false;
    this.#withheld = 0;
  }

  close(): void {
    this.#isClosed = true;
    this.#onWindow = null;
    this.#inner.close();
  }

  #take(endSample: number): void {
    if (this.#isClosed) return;
    const standsOut = this.#gate.standsOut();
    if (standsOut && !this.#isOpen) this.#open();
    this.#probability = 0;
    if (this.#isOpen) this.#listen(standsOut);
    else {
      this.#withheld++;
      this.spared++;
    }
    this.#onWindow?.(this.#probability, endSample);
  }

  #listen(standsOut: boolean): void {
    this.#inner.process(this.#windows.window, this.#keep);
    this.#gate.heard(this.#probability);
    this.#quiet = standsOut || this.#probability > SILENCE ? 0 : this.#quiet + 1;
    if (this.#quiet < CLOSE_WINDOWS) return;
    this.#isOpen = false;
    this.#withheld = 0;
  }

  #open(): void {
    this.#isOpen = true;
    this.#quiet = 0;
    for (let n = Math.min(this.#withheld, LEAD_WINDOWS); n > 0; n--) {
      this.#inner.process(this.#windows.before(n), this.#keep);
    }
  }

  readonly #keep = (probability: number): void => {
    this.#probability = probability;
  };
}

/** Required level above the line's noise, dB. */
const MARGIN_DB = 5;
/** Minimum level of differences between samples, dB over one 16-bit step. A whisper on a good line has 20. */
const LEAST_DB = 12;
/** Change of the noise estimate per window: rise in certain silence and otherwise (dB), and fall (share). */
const RISE_SILENT_DB = 1;
const RISE_DB = 0.05;
const FALL_SHARE = 0.3;
/** Probability from which a window counts as speech. */
const SPEECH = 0.35;

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
