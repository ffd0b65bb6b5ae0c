import { BANK_SIZE, GoertzelBank } from '../dsp/goertzel.js';
import { dbToGain } from '../dsp/level.js';
import { HOP_MS, type Tone, ToneFinder } from './tone-finder.js';

/**
 * Signals of a fax machine or modem (ITU-T T.30, V.25, V.8, V.21):
 * - `answer`: 2100 Hz, also with phases reversed every 450 ms and with 15 Hz on its amplitude;
 * - `modem`: its first data, keyed between 1650 and 1850 Hz;
 * - `calling`: half a second of 1100 Hz every three and a half seconds.
 */
export type FaxSign = 'answer' | 'modem' | 'calling';

/** The standards allow 15 Hz and 38 Hz; the rest is what a measurement may err. */
const ANSWER_HZ: readonly [number, number] = [2080, 2120];
const CALLING_HZ: readonly [number, number] = [1056, 1144];
/** So much of a sign, with what is missing of it taken off twice: phases that reverse and packets that are lost. */
const ANSWER_HOPS = 800 / HOP_MS;
const MODEM_HOPS = 600 / HOP_MS;
const MISS_COST = 2;
/** A burst that calls, and from the beginning of one to that of the next. */
const BURST_MS: readonly [number, number] = [380, 620];
const PERIOD_MS: readonly [number, number] = [2900, 4100];
/** Frames that are lost inside a burst. */
const BURST_GAP_HOPS = 4;
/** The modem's band, in bins of 100 Hz; energy outside it rejects the signal. */
const FIRST_BIN_HZ = 1400;
const BIN_HZ = 100;
const BAND: readonly [number, number] = [1, 6];
const MIDDLE_BIN = 4;
/** Share of the energy in the band, and of that at each of the two frequencies over all. */
const MIN_SHARE = 0.8;
const MIN_SIDE = 0.12;
/** Share of 10 ms that are a single tone: a whistle in this band is nearly all of them. */
const MAX_SINGLE = 0.5;
const LEAST_RMS = 32_768 * dbToGain(-44);

/**
 * Detects a fax machine on the line. Reports a signal as soon as it is certain: after 0.8 s of the answer tone, 0.6 s
 * of the modem, or the second burst of a calling tone. Speech, music, beeps, keypad and line tones do not match.
 */
export class FaxDetector {
  readonly #tones: ToneFinder;
  readonly #bank: GoertzelBank;
  readonly #answer = new Persistence(ANSWER_HOPS);
  readonly #modem = new Persistence(MODEM_HOPS);
  #hops = 0;
  #found: FaxSign | null = null;
  #burst: { startHop: number; lastHop: number } | null = null;
  #lastBurstHop: number | null = null;
  /** Energy at the modem's lower and higher frequency, and of single tones, since the signal began. */
  #low = 0;
  #high = 0;
  #single = 0;
  #sounding = 0;

  /**
   * @param sampleRateHz 8000 to 48000
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(readonly sampleRateHz: number) {
    this.#tones = new ToneFinder(sampleRateHz);
    const hz = Array.from({ length: BANK_SIZE }, (_, bin) => FIRST_BIN_HZ + bin * BIN_HZ);
    this.#bank = new GoertzelBank(hz.map((frequency) => (2 * Math.PI * frequency) / sampleRateHz));
  }

  /** Takes the next samples, however they are cut. Returns a sign in the moment in which it has become certain. */
  push(samples: Int16Array): FaxSign | null {
    this.#found = null;
    this.#tones.push(samples, this.#onHop);
    return this.#found;
  }

  /** Like `push` with this many samples of silence, after at least 0.5 s of silence, at almost no cost. */
  skip(samples: number): void {
    this.#hops += this.#tones.skip(samples);
  }

  /** One function for all frames, to allocate none per frame. */
  readonly #onHop = (tone: Tone | null, hop: Int16Array, energy: number): void => {
    this.#hops++;
    this.#found ??= this.#hear(tone, hop, energy);
  };

  #hear(tone: Tone | null, hop: Int16Array, energy: number): FaxSign | null {
    if (this.#answer.hear(tone !== null && isWithin(tone.frequencyHz, ANSWER_HZ))) return 'answer';
    if (this.#hearsModem(tone, hop, energy)) return 'modem';
    return this.#hearsBurst(tone !== null && isWithin(tone.frequencyHz, CALLING_HZ)) ? 'calling' : null;
  }

  #hearsModem(tone: Tone | null, hop: Int16Array, energy: number): boolean {
    const band = energy < LEAST_RMS ** 2 * hop.length ? null : this.#band(hop);
    const isBand = band !== null && band.low + band.high > MIN_SHARE * energy;
    if (this.#modem.score === 0) this.#low = this.#high = this.#single = this.#sounding = 0;
    if (isBand) {
      this.#low += band.low;
      this.#high += band.high;
      this.#sounding++;
      if (tone !== null) this.#single++;
    }
    if (!this.#modem.hear(isBand)) return false;
    const side = Math.min(this.#low, this.#high) / (this.#low + this.#high);
    return side > MIN_SIDE && this.#single < MAX_SINGLE * this.#sounding;
  }

  /** Energy in the two halves of the modem's band. */
  #band(hop: Int16Array): { low: number; high: number } {
    const { values } = this.#bank;
    this.#bank.measure(hop);
    let low = 0;
    let high = 0;
    for (let bin = BAND[0]; bin <= BAND[1]; bin++) {
      const power = ((values[2 * bin]! ** 2 + values[2 * bin + 1]! ** 2) * 2) / hop.length;
      if (bin < MIDDLE_BIN) low += power;
      else high += power;
    }
    return { low, high };
  }

  #hearsBurst(sounds: boolean): boolean {
    const burst = this.#burst;
    if (sounds) {
      if (burst === null) this.#burst = { startHop: this.#hops, lastHop: this.#hops };
      else burst.lastHop = this.#hops;
      return false;
    }
    if (burst === null || this.#hops - burst.lastHop <= BURST_GAP_HOPS) return false;
    this.#burst = null;
    // A block is twice as long as a hop, so that the burst began one sooner.
    if (!isWithin((burst.lastHop - burst.startHop + 1) * HOP_MS, BURST_MS)) return false;
    const before = this.#lastBurstHop;
    this.#lastBurstHop = burst.startHop;
    return before !== null && isWithin((burst.startHop - before) * HOP_MS, PERIOD_MS);
  }
}

/** Counts how long something lasts that may be missing for a moment now and then. */
class Persistence {
  score = 0;

  constructor(readonly enough: number) {}

  /** Returns whether it has lasted for long enough. */
  hear(isThere: boolean): boolean {
    this.score = isThere ? Math.min(this.enough, this.score + 1) : Math.max(0, this.score - MISS_COST);
    return this.score >= this.enough;
  }
}

function isWithin(value: number, [least, most]: readonly [number, number]): boolean {
  return value >= least && value <= most;
}
