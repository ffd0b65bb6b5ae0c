import { msToSamples, samplesToMs } from './frame.js';
import { BANK_SIZE, GoertzelBank } from './goertzel.js';
import { dbToGain } from './level.js';
import { checkRate } from './rates.js';

export interface Beep {
  readonly frequencyHz: number;
  /** Where it begins and ends, counted in samples since the detector's start; to within 20 ms. */
  readonly startSample: number;
  readonly endSample: number;
}

/** Blocks overlap by half: each is this long and the one before. Two give 20 ms, a resolution of 50 Hz. */
const HOP_MS = 10;
/** Where a beep may lie; the bank looks every 50 Hz. */
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
/** Steady blocks that make a beep: 13 of them span 140 ms, so that 150 ms are always enough and 125 ms never. */
const BLOCKS_ON = 13;
/** What sounds longer is a line's tone. */
const LONGEST_MS = 2500;
/** Another tone so soon after it: a row of tones, such as the three before a network's announcement. */
const ROW_GAP_MS = 60;
/** How far frequency (Hz, and share of it) and amplitude (factor) may stray. */
const STRAY_HZ = 12;
const STRAY_SHARE = 0.02;
const STRAY_AMPLITUDE = 1.6;
/** Fax machines: CNG calls with half a second of 1100 Hz, CED answers with 2100 Hz (ITU-T T.30). */
const FAX_TOLERANCE_HZ = 30;
const CNG_MS: readonly [number, number] = [420, 580];

const NONE: readonly Beep[] = [];

interface Run {
  frequencyHz: number;
  amplitude: number;
  blocks: number;
  startHop: number;
}

/**
 * Finds the beep after which a mailbox records: one steady tone (or one and its octave) of 150 ms to 2.5 s between
 * 380 and 2200 Hz. In overlapping blocks of 20 ms the strongest frequency is found, refined by how far its phase has
 * turned since the half before, and must hold nearly all of the energy, block after block, without straying. Tones of
 * two frequencies (ringback, busy, keypad), rows of tones and fax tones are none.
 *
 * A beep is told when it is over and nothing has followed for 60 ms. What rings in one frequency (425 Hz in Europe)
 * looks the same: listen only after the call was answered and somebody, or something, has spoken.
 */
export class BeepDetector {
  readonly #hop: number;
  /** The last two hops. */
  readonly #block: Int16Array;
  readonly #bins: readonly { bank: GoertzelBank; radians: readonly number[] }[];
  /** Values of the half before, bank by bank. */
  readonly #before = new Float64Array(BANKS * 2 * BANK_SIZE);
  #filled = 0;
  #hops = 0;
  #run: Run | null = null;
  /** Over, and long enough; told when nothing follows. */
  #ended: Beep | null = null;
  /** Tones follow one another: until there is a pause, none of them is a beep. */
  #inRow = false;

  /**
   * @param sampleRateHz 8000 to 48000
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(readonly sampleRateHz: number) {
    checkRate(sampleRateHz);
    this.#hop = msToSamples(HOP_MS, sampleRateHz);
    this.#block = new Int16Array(2 * this.#hop);
    this.#bins = Array.from({ length: BANKS }, (_, index) => {
      const hz = Array.from({ length: BANK_SIZE }).map((_value, bin) => FIRST_HZ + (index * BANK_SIZE + bin) * STEP_HZ);
      const radians = hz.map((frequency) => (2 * Math.PI * frequency) / sampleRateHz);
      return { bank: new GoertzelBank(radians), radians };
    });
  }

  /** Takes the next samples, however they are cut, and returns the beeps that are certainly over. */
  push(samples: Int16Array): readonly Beep[] {
    let found: Beep[] | undefined;
    const block = this.#block;
    const hop = this.#hop;
    for (let at = 0; at < samples.length;) {
      const count = Math.min(hop - this.#filled, samples.length - at);
      block.set(samples.subarray(at, at + count), hop + this.#filled);
      this.#filled += count;
      at += count;
      if (this.#filled < hop) break;
      this.#filled = 0;
      this.#hops++;
      const beep = this.#follow(this.#classify());
      if (beep !== null) (found ??= []).push(beep);
      block.copyWithin(0, hop);
    }
    return found ?? NONE;
  }

  /** Takes one block's tone, or null, and returns a beep if that makes one certain. */
  #follow(tone: Tone | null): Beep | null {
    const run = this.#run;
    if (run !== null && tone !== null && belongs(tone, run)) {
      run.blocks++;
      run.frequencyHz += (tone.frequencyHz - run.frequencyHz) / run.blocks;
      run.amplitude += (tone.amplitude - run.amplitude) / run.blocks;
      return null;
    }
    if (run !== null) this.#end(run);
    this.#run =
      tone === null
        ? null
        : { frequencyHz: tone.frequencyHz, amplitude: tone.amplitude, blocks: 1, startHop: this.#hops - 2 };
    return this.#settle();
  }

  #end(run: Run): void {
    if (run.blocks < BLOCKS_ON) return;
    const startSample = Math.max(0, run.startHop * this.#hop);
    const endSample = (this.#hops - 1) * this.#hop;
    const lengthMs = samplesToMs(endSample - startSample, this.sampleRateHz);
    if (this.#ended !== null) this.#inRow = true;
    if (lengthMs > LONGEST_MS || isFax(run.frequencyHz, lengthMs)) this.#ended = null;
    else this.#ended = { frequencyHz: Math.round(run.frequencyHz), startSample, endSample };
  }

  /** The beep that has ended, once it is clear that no tone follows it. */
  #settle(): Beep | null {
    const ended = this.#ended;
    if (ended === null) return null;
    const run = this.#run;
    if (run !== null && run.startHop * this.#hop - ended.endSample < msToSamples(ROW_GAP_MS, this.sampleRateHz)) {
      return null; // a tone so soon: whether it is long enough to make a row will show
    }
    if (run === null && samplesToMs(this.#hops * this.#hop - ended.endSample, this.sampleRateHz) < ROW_GAP_MS)
      return null;
    this.#ended = null;
    const isBeep = !this.#inRow;
    this.#inRow = false;
    return isBeep ? ended : null;
  }

  /** The one tone that makes up the last two hops, or null. */
  #classify(): Tone | null {
    const block = this.#block;
    const hop = this.#hop;
    let energy = 0;
    for (let i = 0; i < block.length; i++) energy += block[i]! * block[i]!;
    if (energy < LEAST_RMS ** 2 * block.length) {
      this.#before.fill(0);
      return null;
    }
    const frequencyHz = this.#strongestHz(block.subarray(hop));
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
      const { bank, radians } = this.#bins[index]!;
      bank.measure(half);
      const offset = index * 2 * BANK_SIZE;
      for (let bin = 0; bin < BANK_SIZE; bin++) {
        const re = bank.values[2 * bin]!;
        const im = bank.values[2 * bin + 1]!;
        const beforeRe = this.#before[offset + 2 * bin]!;
        const beforeIm = this.#before[offset + 2 * bin + 1]!;
        const turn = radians[bin]! * this.#hop;
        const turnedRe = beforeRe * Math.cos(turn) - beforeIm * Math.sin(turn);
        const turnedIm = beforeRe * Math.sin(turn) + beforeIm * Math.cos(turn);
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

interface Tone {
  frequencyHz: number;
  amplitude: number;
}

function belongs(tone: Tone, run: Run): boolean {
  const strayHz = Math.abs(tone.frequencyHz - run.frequencyHz);
  const louder = tone.amplitude / run.amplitude;
  return strayHz < STRAY_HZ + STRAY_SHARE * run.frequencyHz && louder < STRAY_AMPLITUDE && louder > 1 / STRAY_AMPLITUDE;
}

function isFax(frequencyHz: number, lengthMs: number): boolean {
  if (Math.abs(frequencyHz - 2100) < FAX_TOLERANCE_HZ) return true;
  return Math.abs(frequencyHz - 1100) < FAX_TOLERANCE_HZ && lengthMs >= CNG_MS[0] && lengthMs <= CNG_MS[1];
}
