import { msToSamples } from './frame.js';
import { BANK_SIZE, GoertzelBank } from './goertzel.js';
import { dbToGain } from './level.js';
import { checkRate } from './rates.js';

/** A single tone that makes up 20 ms of sound. */
export interface Tone {
  frequencyHz: number;
  /** Root of the energy that it holds. */
  amplitude: number;
}

/** Blocks overlap by half: each is this long and the one before. Two give 20 ms, a resolution of 50 Hz. */
export const HOP_MS = 10;
/** Where a tone may lie; the bank looks every 50 Hz. */
const LOWEST_HZ = 380;
const HIGHEST_HZ = 2200;
const STEP_HZ = 50;
const FIRST_HZ = 350;
const BANKS = 5;
/** Least level of the block: -44 dBFS. */
const LEAST_RMS = 32_768 * dbToGain(-44);
/** Share of the block's energy that lies in the tone (and its octave). Speech has it in many harmonics. */
const MIN_PURITY = 0.85;
/** Share of it from which the octave is part of the tone. */
const MIN_OCTAVE = 0.1;

/**
 * Tells for each 10 ms whether the last 20 ms are one tone (or one and its octave) between 380 and 2200 Hz. In
 * overlapping blocks the strongest frequency is found, refined by how far its phase has turned since the half before; it
 * must hold nearly all of the energy.
 */
export class ToneFinder {
  readonly #hop: number;
  /** The last two hops, and the later of them. */
  readonly #block: Int16Array;
  readonly #late: Int16Array;
  readonly #bins: readonly {
    bank: GoertzelBank;
    radians: readonly number[];
    turns: readonly { cos: number; sin: number }[];
  }[];
  /** Values of the half before, bank by bank; all zero while it `isSilent`. */
  readonly #before = new Float64Array(BANKS * 2 * BANK_SIZE);
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
    this.#bins = Array.from({ length: BANKS }, (_, index) => {
      const hz = Array.from({ length: BANK_SIZE }).map((_value, bin) => FIRST_HZ + (index * BANK_SIZE + bin) * STEP_HZ);
      const radians = hz.map((frequency) => (2 * Math.PI * frequency) / sampleRateHz);
      // By how much each turns in a hop.
      const turns = radians.map((each) => ({ cos: Math.cos(each * this.#hop), sin: Math.sin(each * this.#hop) }));
      return { bank: new GoertzelBank(radians), radians, turns };
    });
  }

  /**
   * Takes the next samples, however they are cut.
   * @param onHop told of each 10 ms that are full: the tone or null, these 10 ms, valid during the call only, and the
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

  /** The one tone that makes up the last two hops, or null. */
  #classify(energy: number): Tone | null {
    const block = this.#block;
    if (energy < LEAST_RMS ** 2 * block.length) {
      if (!this.#isSilent) this.#before.fill(0);
      this.#isSilent = true;
      return null;
    }
    this.#isSilent = false;
    const frequencyHz = this.#strongestHz(this.#late);
    if (frequencyHz < LOWEST_HZ || frequencyHz > HIGHEST_HZ) return null;
    // With the octave below, either may be the stronger from block to block: the lower one names the tone.
    const octave = frequencyHz / 2 >= LOWEST_HZ ? this.#powerAt(frequencyHz / 2) : 0;
    const lowestHz = octave > MIN_OCTAVE * energy ? frequencyHz / 2 : frequencyHz;
    const power = this.#powerAt(frequencyHz);
    const isAlone = power > MIN_PURITY * energy;
    const both = power + (lowestHz < frequencyHz ? octave : isAlone ? 0 : this.#powerAt(2 * frequencyHz));
    return both > MIN_PURITY * energy ? { frequencyHz: lowestHz, amplitude: Math.sqrt(both) } : null;
  }

  /** The strongest frequency of the block, from the phases of its two halves. */
  #strongestHz(half: Int16Array): number {
    let best = 0;
    let bestPower = -1;
    for (let index = 0; index < BANKS; index++) {
      const { bank, radians, turns } = this.#bins[index]!;
      bank.measure(half);
      const offset = index * 2 * BANK_SIZE;
      for (let bin = 0; bin < BANK_SIZE; bin++) {
        const re = bank.values[2 * bin]!;
        const im = bank.values[2 * bin + 1]!;
        const beforeRe = this.#before[offset + 2 * bin]!;
        const beforeIm = this.#before[offset + 2 * bin + 1]!;
        const { cos, sin } = turns[bin]!;
        const turnedRe = beforeRe * cos - beforeIm * sin;
        const turnedIm = beforeRe * sin + beforeIm * cos;
        const power = (turnedRe + re) ** 2 + (turnedIm + im) ** 2;
        if (power > bestPower) {
          bestPower = power;
          // A tone beside the bin's own frequency turns by so much more (or less) in one hop.
          const drift = Math.atan2(turnedRe * im - turnedIm * re, turnedRe * re + turnedIm * im);
          best = ((radians[bin]! + drift / this.#hop) * this.sampleRateHz) / (2 * Math.PI);
        }
      }
      this.#before.set(bank.values, offset);
    }
    return best;
  }

  /** Energy of the block that a frequency holds. */
  #powerAt(frequencyHz: number): number {
    const block = this.#block;
    const radians = (2 * Math.PI * frequencyHz) / this.sampleRateHz;
    const turn = 2 * Math.cos(radians);
    let last = 0;
    let before = 0;
    for (let i = 0; i < block.length; i++) {
      const next = turn * last - before + block[i]!;
      before = last;
      last = next;
    }
    return ((last * last + before * before - turn * last * before) * 2) / block.length;
  }
}
