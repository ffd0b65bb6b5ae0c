import { HOP_MS, type Tone, ToneFinder } from './tone-finder.js';

/** What the tones say of the call: no circuit is free, or the number cannot be reached. */
export type SpecialInformation = 'busy' | 'failed';

/**
 * The three tones, one after the other: 950, 1400 and 1800 Hz, each within 50 Hz and for 330 ms, within 70 (ITU-T
 * E.180). North America has variants of 914 or 985, 1371 or 1429, and 1777 Hz, of 276 or 380 ms.
 */
const BANDS: readonly (readonly [number, number])[] = [
  [895, 1005],
  [1345, 1455],
  [1745, 1855],
];
/** A tone at each end of which a block is of two tones, or of half a tone. */
const LEAST_HOPS = 200 / HOP_MS;
const MOST_HOPS = 460 / HOP_MS;
/** Between two tones 30 ms at most; a lost packet and the blocks at the edges come on top. */
const MOST_GAP_HOPS = 80 / HOP_MS;
/** In North America a second tone of 1429 Hz, or a long one of 1371 Hz, means that all circuits are busy. */
const BUSY_HZ: readonly [number, number] = [1419, 1440];
const LOWER_HZ: readonly [number, number] = [1360, 1382];
const LONG_HOPS = 330 / HOP_MS;

interface Segment {
  /** Which of the three it is. */
  band: number;
  hops: number;
  /** Mean, of its hops. */
  frequencyHz: number;
}

/** Finds special information tones, which come before a network's announcement. */
export class SpecialInformationDetector {
  readonly #tones: ToneFinder;
  /** The tones so far, in order; the last one may continue. */
  #segments: Segment[] = [];
  #gap = 0;
  #found: SpecialInformation | null = null;

  /**
   * @param sampleRateHz 8000 to 48000
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(sampleRateHz: number) {
    this.#tones = new ToneFinder(sampleRateHz);
  }

  /** Takes the next samples, however they are cut. Returns what the tones say once the third has lasted long enough. */
  push(samples: Int16Array): SpecialInformation | null {
    this.#found = null;
    this.#tones.push(samples, this.#onHop);
    return this.#found;
  }

  /** Like `push` with this many samples of silence, after at least 0.5 s of silence, at almost no cost. */
  skip(samples: number): void {
    this.#tones.skip(samples);
    this.#segments = [];
  }

  readonly #onHop = (tone: Tone | null): void => {
    const band =
      tone === null ? -1 : BANDS.findIndex(([from, to]) => tone.frequencyHz >= from && tone.frequencyHz <= to);
    const last = this.#segments.at(-1);
    if (tone === null || band < 0) {
      if (last !== undefined && ++this.#gap > MOST_GAP_HOPS) this.#segments = [];
      return;
    }
    this.#gap = 0;
    if (last?.band === band) {
      last.hops++;
      last.frequencyHz += (tone.frequencyHz - last.frequencyHz) / last.hops;
      if (last.hops > MOST_HOPS) this.#segments = [];
    } else if (band === 0) this.#segments = [{ band, hops: 1, frequencyHz: tone.frequencyHz }];
    else if (last?.band === band - 1 && last.hops >= LEAST_HOPS) {
      this.#segments.push({ band, hops: 1, frequencyHz: tone.frequencyHz });
    } else this.#segments = [];
    const [, second, third] = this.#segments;
    if (second === undefined || third?.hops !== LEAST_HOPS) return;
    const isBusy =
      isWithin(second.frequencyHz, BUSY_HZ) || (isWithin(second.frequencyHz, LOWER_HZ) && second.hops >= LONG_HOPS);
    this.#found ??= isBusy ? 'busy' : 'failed';
  };
}

function isWithin(value: number, [least, most]: readonly [number, number]): boolean {
  return value >= least && value <= most;
}
