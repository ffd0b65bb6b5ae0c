import { checkRate, msToSamples } from '../frame.js';
import { BANK_SIZE, GoertzelBank } from '../dsp/goertzel.js';
import { dbToGain } from '../dsp/level.js';

/** A single tone that makes up 20 ms of sound. */
export interface Tone {
  frequencyHz: number;
  /** Root of the energy that it holds. */
  amplitude: number;
}

/** Blocks overlap by half: each is this long and the one before. Two give 20 ms, a resolution of 50 Hz. */
export const HOP_MS = 10;
/** Frequency range of tones; the filter bank has a bin every 50 Hz. */
const LOWEST_HZ = 380;
const HIGHEST_HZ = 2200;
const STEP_HZ = 50;
const FIRST_HZ = 350;
const BANKS = 5;
const BINS = BANKS * BANK_SIZE;
/** Least level of the block: -44 dBFS. */
const LEAST_RMS = 32_768 * dbToGain(-44);
/** Share of the block's energy that lies in the tone (and its octave). Speech has it in many harmonics. */
const MIN_PURITY = 0.85;
/**
 * The stronger of a tone and its octave has at least this share, and in the bin nearest to it, which may be 25 Hz away,
 * at least that one: what has less costs no closer look.
 */
const LEAST_SHARE = 0.22;
const LEAST_IN_BIN = 0.15;
/** Share of it from which the octave is part of the tone. */
const MIN_OCTAVE = 0.1;

/**
 * Tells for each 10 ms whether the last 20 ms are one tone (or one and its octave) between 380 and 2200 Hz. In
 * overlapping blocks the strongest frequency is found, refined by how far its phase has turned since the half before;
 * it must hold nearly all of the energy.
 */
export class ToneFinder {
  readonly #hop: number;
  /** The last two hops, and the later of them. */
  readonly #block: Int16Array;
  readonly #late: Int16Array;
  readonly #banks: readonly GoertzelBank[];
  /** Of each bin: radians a sample, and what a hop turns it by, cosine and sine. */
  readonly #radians: Float64Array;
  readonly #turns: Float64Array;
  /** Values of the half before, bank by bank; all zero while it `isSilent`. */
  readonly #before = new Float64Array(2 * BINS);
  #isSilent = true;
  #filled = 0;
  /** Of what has been filled, and of the hop before. */
  #energy = 0;
  #energyBefore = 0;

  /**
   * @param sampleRateHz 8000 to 48000
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(readonly sampleRateHz: number) {
    checkRate(sampleRateHz);
    this.#hop = msToSamples(HOP_MS, sampleRateHz);
    this.#block = new Int16Array(2 * this.#hop);
    this.#late = this.#block.subarray(this.#hop);
    this.#radians = Float64Array.from(
      { length: BINS },
      (_, bin) => (2 * Math.PI * (FIRST_HZ + bin * STEP_HZ)) / sampleRateHz,
    );
    this.#turns = Float64Array.from({ length: 2 * BINS }, (_, part) => {
      const turned = this.#radians[part >> 1]! * this.#hop;
      return part % 2 === 0 ? Math.cos(turned) : Math.sin(turned);
    });
    this.#banks = Array.from({ length: BANKS }, (_, bank) => {
      return new GoertzelBank([...this.#radians.subarray(bank * BANK_SIZE, (bank + 1) * BANK_SIZE)]);
    });
  }

  /**
   * Takes the next samples, however they are cut.
   * @param onHop called with each complete 10 ms: the tone or null, these 10 ms, valid during the call only, and the
   *   energy in them, the sum of their squares
   */
  push(samples: Int16Array, onHop: (tone: Tone | null, hop: Int16Array, energy: number) => void): void {
    const block = this.#block;
    const hop = this.#hop;
    for (let at = 0; at < samples.length;) {
      const count = Math.min(hop - this.#filled, samples.length - at);
      const to = hop + this.#filled;
      let energy = this.#energy;
      for (let i = 0; i < count; i++) {
        const sample = samples[at + i]!;
        block[to + i] = sample;
        energy += sample * sample;
      }
      this.#energy = energy;
      this.#filled += count;
      at += count;
      if (this.#filled < hop) break;
      this.#filled = 0;
      this.#energy = 0;
      onHop(this.#classify(energy + this.#energyBefore), this.#late, energy);
      this.#energyBefore = energy;
      block.copyWithin(0, hop);
    }
  }

  /**
   * Skips this many samples of silence, after at least two hops of silence, without analysing them.
   * @returns the number of hops completed
   */
  skip(samples: number): number {
    const filled = this.#filled + samples;
    this.#filled = filled % this.#hop;
    this.#block.fill(0);
    this.#energy = 0;
    this.#energyBefore = 0;
    return Math.floor(filled / this.#hop);
  }

  /** The one tone that makes up the last two hops, or null. */
  #classify(energy: number): Tone | null {
    const block = this.#block;
    if (energy < LEAST_RMS ** 2 * block.length) {
      if (!this.#isSilent) this.#before.fill(0);
      this.#isSilent = true;
      return null;
    }
    this.#isSilent = false;
    const frequencyHz = this.#strongestHz(this.#late, (LEAST_IN_BIN * energy * block.length) / 2);
    if (frequencyHz < LOWEST_HZ || frequencyHz > HIGHEST_HZ) return null;
    const power = this.#powerAt(frequencyHz);
    if (power < LEAST_SHARE * energy) return null;
    // With the octave below, either may be the stronger from block to block: the lower one names the tone.
    const octave = frequencyHz / 2 >= LOWEST_HZ ? this.#powerAt(frequencyHz / 2) : 0;
    const lowestHz = octave > MIN_OCTAVE * energy ? frequencyHz / 2 : frequencyHz;
    const isAlone = power > MIN_PURITY * energy;
    const both = power + (lowestHz < frequencyHz ? octave : isAlone ? 0 : this.#powerAt(2 * frequencyHz));
    return both > MIN_PURITY * energy ? { frequencyHz: lowestHz, amplitude: Math.sqrt(both) } : null;
  }

  /** The strongest frequency of the block, from the phases of its two halves; 0 where none has as much as `least`. */
  #strongestHz(half: Int16Array, least: number): number {
    let best = 0;
    let bestPower = -1;
    let along = 0;
    let across = 0;
    const before = this.#before;
    const turns = this.#turns;
    for (let index = 0; index < BANKS; index++) {
      const bank = this.#banks[index]!;
      bank.measure(half);
      const { values } = bank;
      const offset = index * 2 * BANK_SIZE;
      for (let i = 0; i < 2 * BANK_SIZE; i += 2) {
        const at = offset + i;
        const re = values[i]!;
        const im = values[i + 1]!;
        const turnedRe = before[at]! * turns[at]! - before[at + 1]! * turns[at + 1]!;
        const turnedIm = before[at]! * turns[at + 1]! + before[at + 1]! * turns[at]!;
        before[at] = re;
        before[at + 1] = im;
        const sumRe = turnedRe + re;
        const sumIm = turnedIm + im;
        const power = sumRe * sumRe + sumIm * sumIm;
        if (power <= bestPower) continue;
        best = at >> 1;
        bestPower = power;
        along = turnedRe * re + turnedIm * im;
        across = turnedRe * im - turnedIm * re;
      }
    }
    if (bestPower < least) return 0;
    // A tone off the bin's centre advances by this much more (or less) phase in one hop.
    const drift = Math.atan2(across, along);
    return ((this.#radians[best]! + drift / this.#hop) * this.sampleRateHz) / (2 * Math.PI);
  }

  /** Energy of the block that a frequency holds. */
  #powerAt(frequencyHz: number): number {
    const block = this.#block;
    const radians = (2 * Math.PI * frequencyHz) / this.sampleRateHz;
    const turn = 2 * Math.cos(radians);
    let last = 0;
    let before = 0;
    for (let i = 0; i < block.length; i++) {
      const next = turn * last + (block[i]! - before);
      before = last;
      last = next;
    }
    return ((last * last + before * before - turn * last * before) * 2) / block.length;
  }
}
