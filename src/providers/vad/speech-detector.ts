/**
 * Turns a VAD's probabilities into "speech began" and "speech ended". Uses no clock: positions are samples at 16 kHz,
 * counted as the VAD counts them.
 *
 * It reports an end early, after a short silence: the conversation decides whether the *turn* has ended, and decides
 * again as the silence grows.
 */
import { HEARING_RATE_HZ, msToSamples } from '../../audio/frame.js';

export interface SpeechDetectorOptions {
  /**
   * Probability from which a window is speech, 0..1; default 0.5. Clamped to 0.05 to 0.95, beyond which speech would
   * never end or never begin.
   */
  readonly threshold?: number;
  /**
   * Probability below which speech pauses; default 0.15 less than `threshold`, but at least half of it. Between the two
   * all stays as it is.
   */
  readonly releaseThreshold?: number;
  /** How long speech must last to be reported, ms; default 60: two windows of Silero. Clicks are shorter. */
  readonly minSpeechMs?: number;
  /** How long silence must last until the end is reported, ms; default 90: three windows of Silero. */
  readonly minSilenceMs?: number;
  /**
   * How far before the first window of speech its start may lie, ms; default 100. It is put where the probability began
   * to rise.
   */
  readonly lookBackMs?: number;
}

export interface SpeechListener {
  /** Speech began at `startSample`; known at `atSample`. */
  onSpeechStart(startSample: number, atSample: number): void;
  /** Speech ended at `endSample`; known at `atSample`. */
  onSpeechEnd(endSample: number, atSample: number): void;
}

/** Share of the threshold from which a rising probability counts as the beginning of what follows. */
const RISE_SHARE = 0.2;

export class SpeechDetector {
  readonly #listener: SpeechListener;
  readonly #windowSamples: number;
  readonly #threshold: number;
  readonly #release: number;
  readonly #minSpeech: number;
  readonly #minSilence: number;
  readonly #lookBack: number;
  #probability = 0;
  #speaking = false;
  /** Start of the windows whose probability has been rising, or null. */
  #riseSample: number | null = null;
  /** Start of the first window of speech while it is not yet long enough to be reported. */
  #candidateSample: number | null = null;
  /** End of the last window of speech. */
  #speechEndSample = 0;
  /** Whether the probability has fallen below the release threshold since then. */
  #paused = false;

  /**
   * @param windowSamples the VAD's `windowSamples`
   * @throws RangeError when an option is not a number in its range
   */
  constructor(windowSamples: number, listener: SpeechListener, options: SpeechDetectorOptions = {}) {
    const threshold = within('threshold', options.threshold ?? 0.5, 0, 1);
    this.#threshold = Math.min(Math.max(threshold, 0.05), 0.95);
    const release = options.releaseThreshold ?? Math.max(this.#threshold - 0.15, this.#threshold / 2);
    this.#release = within('releaseThreshold', release, 0, this.#threshold);
    this.#minSpeech = samplesOf('minSpeechMs', options.minSpeechMs ?? 60);
    this.#minSilence = samplesOf('minSilenceMs', options.minSilenceMs ?? 90);
    this.#lookBack = samplesOf('lookBackMs', options.lookBackMs ?? 100);
    this.#windowSamples = windowSamples;
    this.#listener = listener;
  }

  /** The last window's probability of speech. */
  get probability(): number {
    return this.#probability;
  }

  /** Whether a start has been reported and its end has not. */
  get speaking(): boolean {
    return this.#speaking;
  }

  /** Takes the next window; hand it to `VadDetector.process` as it is. */
  readonly onWindow = (probability: number, endSample: number): void => {
    this.#probability = probability;
    if (this.#speaking) this.#waitForEnd(probability, endSample);
    else this.#waitForStart(probability, endSample);
  };

  /** Back to silence at sample 0, with no report. Reset the VAD with it. */
  reset(): void {
    this.#probability = 0;
    this.#becomeSilent();
  }

  #waitForStart(probability: number, endSample: number): void {
    const windowStart = endSample - this.#windowSamples;
    if (probability < this.#threshold * RISE_SHARE) this.#riseSample = null;
    else this.#riseSample ??= windowStart;

    if (probability >= this.#threshold) this.#candidateSample ??= windowStart;
    else if (probability < this.#release) this.#candidateSample = null;

    const candidate = this.#candidateSample;
    if (candidate === null || endSample - candidate < this.#minSpeech) return;
    const start = Math.max(this.#riseSample ?? candidate, candidate - this.#lookBack);
    this.#speaking = true;
    this.#paused = false;
    this.#speechEndSample = endSample;
    this.#listener.onSpeechStart(start, endSample);
  }

  #waitForEnd(probability: number, endSample: number): void {
    if (probability >= this.#threshold) {
      this.#speechEndSample = endSample;
      this.#paused = false;
      return;
    }
    if (probability < this.#release) this.#paused = true;
    if (!this.#paused || endSample - this.#speechEndSample < this.#minSilence) return;
    const end = this.#speechEndSample;
    this.#becomeSilent();
    this.#listener.onSpeechEnd(end, endSample);
  }

  #becomeSilent(): void {
    this.#speaking = false;
    this.#paused = false;
    this.#riseSample = null;
    this.#candidateSample = null;
  }
}

function within(name: string, value: number, least: number, most: number): number {
  if (!(value >= least && value <= most))
    throw new RangeError(`${name} must be from ${least} to ${most}, not ${value}`);
  return value;
}

function samplesOf(name: string, ms: number): number {
  return msToSamples(within(name, ms, 0, 60_000), HEARING_RATE_HZ);
}
