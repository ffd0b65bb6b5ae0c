/** A detector that rests while a line is silent: for machines packed with calls, where most lines are most of the time. */
import { LevelGate } from './level-gate.js';
import type { VadDetector, VadProvider } from './vad.js';

/** The last windows before the gate opens, which the detector then hears at once: with 4 it knew some voices later. */
const LEAD_WINDOWS = 16;
/** These, and the one that is being filled. */
const KEPT_WINDOWS = LEAD_WINDOWS + 1;
/** The gate closes behind so many windows in a row in which nothing stood out and nobody spoke: half a second. */
const CLOSE_WINDOWS = 16;
/** Nobody spoke, to the detector. */
const SILENCE = 0.1;

/**
 * Another provider's detector behind a `LevelGate`. What stands out from the noise of the line is given to it, with a
 * little of what came before; the rest has probability 0.
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
  /** The last windows, in a ring: they are filled where they stay. */
  readonly #windows: readonly Int16Array[];
  /** The window that is being filled, counted from the start, and how much of it is. */
  #current = 0;
  #filled = 0;
  /** How many before it the inner detector has not heard since the gate was closed. */
  #withheld = 0;
  #isOpen = false;
  #isClosed = false;
  #quiet = 0;
  #probability = 0;
  #onWindow: ((probability: number, endSample: number) => void) | null = null;
  /** Windows that the inner detector did not have to hear. */
  spared = 0;

  constructor(inner: VadDetector) {
    this.#inner = inner;
    this.windowSamples = inner.windowSamples;
    this.#windows = Array.from({ length: KEPT_WINDOWS }, () => new Int16Array(this.windowSamples));
  }

  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void {
    if (this.#isClosed) return;
    this.#onWindow = onWindow;
    for (let at = 0; at < samples.length;) {
      const window = this.#windowAt(this.#current);
      const count = Math.min(window.length - this.#filled, samples.length - at);
      for (let i = 0; i < count; i++) window[this.#filled + i] = samples[at + i]!;
      at += count;
      this.#filled += count;
      if (this.#filled < window.length) return;
      this.#filled = 0;
      this.#current++;
      this.#take(window, this.#current * window.length);
    }
  }

  reset(): void {
    this.#inner.reset();
    this.#gate.reset();
    this.#current = 0;
    this.#filled = 0;
    this.#isOpen = false;
    this.#withheld = 0;
  }

  close(): void {
    this.#isClosed = true;
    this.#onWindow = null;
    this.#inner.close();
  }

  #windowAt(place: number): Int16Array {
    return this.#windows[place % KEPT_WINDOWS]!;
  }

  #take(window: Int16Array, endSample: number): void {
    if (this.#isClosed) return;
    const standsOut = this.#gate.push(window);
    if (standsOut && !this.#isOpen) this.#open();
    this.#probability = 0;
    if (this.#isOpen) this.#listen(window, standsOut);
    else {
      this.#withheld = Math.min(LEAD_WINDOWS, this.#withheld + 1);
      this.spared++;
    }
    this.#onWindow?.(this.#probability, endSample);
  }

  #listen(window: Int16Array, standsOut: boolean): void {
    this.#inner.process(window, this.#keep);
    this.#gate.heard(this.#probability);
    this.#quiet = standsOut || this.#probability > SILENCE ? 0 : this.#quiet + 1;
    if (this.#quiet < CLOSE_WINDOWS) return;
    this.#isOpen = false;
    this.#withheld = 0;
  }

  #open(): void {
    this.#isOpen = true;
    this.#quiet = 0;
    // The current one has been counted already, and is heard behind them.
    for (let back = this.#withheld; back > 0; back--) {
      this.#inner.process(this.#windowAt(this.#current - 1 - back), this.#keep);
    }
  }

  readonly #keep = (probability: number): void => {
    this.#probability = probability;
  };
}
