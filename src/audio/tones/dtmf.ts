import { BANK_SIZE, GoertzelBank } from '../dsp/goertzel.js';
import { dbToGain } from '../dsp/level.js';
import { checkRate, msToSamples } from '../frame.js';
import { ToneGenerator } from './tones.js';

/** The frequencies of ITU-T Q.23. */
export const DTMF_ROWS_HZ: readonly number[] = [697, 770, 852, 941];
export const DTMF_COLUMNS_HZ: readonly number[] = [1209, 1336, 1477, 1633];
/** The keys, row by row. */
export const DTMF_KEYS = '123A456B789C*0#D';

export interface DtmfOptions {
  /** Default 100. Q.24 asks receivers for 40. */
  readonly onMs?: number;
  /** Silence after each digit. Default 100. */
  readonly offMs?: number;
  /** Level of the row's frequency as its amplitude. The column's is 2 dB above it, for what lines lose. Default -13. */
  readonly levelDbfs?: number;
}

/**
 * The digits as keypad tones. Lower case letters are taken as upper case.
 *
 * @throws RangeError for anything that is not a key
 */
export function dtmfTones(digits: string, sampleRateHz: number, options: DtmfOptions = {}): Int16Array {
  const { onMs = 100, offMs = 100, levelDbfs = -13 } = options;
  const perDigit = Math.round(((onMs + offMs) * sampleRateHz) / 1000);
  const out = new Int16Array(digits.length * perDigit);
  for (let i = 0; i < digits.length; i++) {
    const key = DTMF_KEYS.indexOf(digits[i]!.toUpperCase());
    if (key < 0) throw new RangeError(`"${digits[i]}" is not on the keypad`);
    const generator = new ToneGenerator(sampleRateHz, {
      frequenciesHz: [DTMF_ROWS_HZ[key >> 2]!, DTMF_COLUMNS_HZ[key & 3]!],
      levelDbfs: [levelDbfs, levelDbfs + 2],
      cadenceMs: [onMs, offMs],
      repeat: false,
    });
    generator.read(out.subarray(i * perDigit, (i + 1) * perDigit));
  }
  return out;
}

export interface DtmfDigit {
  /** One of 0-9, *, #, A-D. */
  readonly digit: string;
  /** Where its tone begins, counted in samples since the detector's start; to within 7 ms. */
  readonly startSample: number;
}

/** Blocks overlap by half: each is this long and the one before. Two give 12.75 ms, a resolution of 78 Hz. */
const HOP_MS = 6.375;
/** Steady blocks that make a digit: 4 of them span 32 ms, so 40 ms are always enough and 23 ms never. */
const BLOCKS_ON = 4;
/** Blocks without it that end a digit: 10 ms of drop-out do not, a pause of 30 ms does. */
const BLOCKS_OFF = 5;
/** Least amplitude of either tone: -36 dBFS. */
const LEAST_AMPLITUDE = 32_768 * dbToGain(-36);
/** Twist: the row's tone may be 8 dB stronger than the column's (lines lose treble), the column's 6 dB; 2 dB spare. */
const MAX_ROW_OVER_COLUMN = 10;
const MAX_COLUMN_OVER_ROW = 10 ** 0.8;
/** Every other frequency of the group stays 8 dB below the strongest. */
const MIN_OVER_OTHERS = 10 ** 0.8;
/** Share of the block's energy that lies in the two tones. Speech has it in harmonics all over the band. */
const MIN_SHARE = 0.62;
/** Phases may drift from the nominal frequency by what 2.5 % make: Q.24 asks to take 1.5 % and to refuse 3.5 %. */
const MAX_DETUNE = 0.025;

const NONE: readonly DtmfDigit[] = [];

/**
 * Finds keypad tones in audio (ITU-T Q.23 and Q.24). In each overlapping block of 12.75 ms, one row's and one
 * column's frequency must be strong, of similar level, far above their neighbours and hold nearly all energy; and
 * from block to block the phase of both must advance as their frequency requires, which that of speech does not.
 */
export class DtmfDetector {
  readonly #hop: number;
  readonly #block: Int16Array;
  readonly #bank: GoertzelBank;
  /** What one hop turns each frequency by: cosine and sine. */
  readonly #turns = new Float64Array(2 * BANK_SIZE);
  /** Cosine of the largest drift in one hop. */
  readonly #leastAlignment: Float64Array;
  /** All zero while the last hop `isSilent`. */
  readonly #halves = new Float64Array(2 * BANK_SIZE);
  #isSilent = true;
  /** Values of this block and of the one before, half a block ago; swapped each time. */
  #now = new Float64Array(2 * BANK_SIZE);
  #before = new Float64Array(2 * BANK_SIZE);
  readonly #powers = new Float64Array(BANK_SIZE);
  #filled = 0;
  /** Of what has been filled, and of the hop before. */
  #energy = 0;
  #halfEnergy = 0;
  #hops = 0;
  /** The key that the last block looked like (-1: none) and for how many blocks on end. */
  #candidate = -1;
  #run = 0;
  /** The key that is held down, and blocks since it was last seen. */
  #held = -1;
  #missed = 0;

  /**
   * @param sampleRateHz 8000 to 48000; 8 kHz is the cheapest and loses nothing
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(readonly sampleRateHz: number) {
    checkRate(sampleRateHz);
    this.#hop = Math.round((HOP_MS * sampleRateHz) / 1000);
    this.#block = new Int16Array(this.#hop);
    const radians = [...DTMF_ROWS_HZ, ...DTMF_COLUMNS_HZ].map((hz) => (2 * Math.PI * hz) / sampleRateHz);
    this.#bank = new GoertzelBank(radians);
    this.#leastAlignment = Float64Array.from(radians, (radian) => Math.cos(radian * this.#hop * MAX_DETUNE));
    for (let i = 0; i < BANK_SIZE; i++) {
      this.#turns[2 * i] = Math.cos(radians[i]! * this.#hop);
      this.#turns[2 * i + 1] = Math.sin(radians[i]! * this.#hop);
    }
  }

  /** The key sounding now, or undefined. While it sounds, the audio is not speech. */
  get held(): string | undefined {
    return this.#held < 0 ? undefined : DTMF_KEYS[this.#held];
  }

  /** Takes the next samples, however they are cut, and returns the digits that became certain in them. */
  push(samples: Int16Array): readonly DtmfDigit[] {
    let found: DtmfDigit[] | undefined;
    const block = this.#block;
    for (let at = 0; at < samples.length;) {
      const count = Math.min(this.#hop - this.#filled, samples.length - at);
      let energy = this.#energy;
      for (let i = 0, to = this.#filled; i < count; i++) {
        const sample = samples[at + i]!;
        block[to + i] = sample;
        energy += sample * sample;
      }
      this.#energy = energy;
      this.#filled += count;
      at += count;
      if (this.#filled < this.#hop) break;
      this.#filled = 0;
      this.#energy = 0;
      this.#hops++;
      const digit = this.#follow(this.#classify(energy));
      if (digit) (found ??= []).push(digit);
    }
    return found ?? NONE;
  }

  /** Like `push` with this many samples of silence, after at least 100 ms of silence, at almost no cost. */
  skip(samples: number): void {
    const filled = this.#filled + samples;
    this.#hops += Math.floor(filled / this.#hop);
    this.#filled = filled % this.#hop;
    this.#block.fill(0);
    this.#energy = 0;
    this.#halfEnergy = 0;
  }

  /** Counts how long the same key has been seen, and names it when that is long enough and it is not held already. */
  #follow(key: number): DtmfDigit | undefined {
    if (key >= 0 && key === this.#candidate && this.#steady(key)) this.#run++;
    else this.#run = key >= 0 ? 1 : 0;
    this.#candidate = key;
    if (this.#held >= 0) {
      this.#missed = key === this.#held ? 0 : this.#missed + 1;
      if (this.#missed >= BLOCKS_OFF) this.#held = -1;
    }
    if (this.#run < BLOCKS_ON || key === this.#held) return undefined;
    this.#held = key;
    this.#missed = 0;
    return { digit: DTMF_KEYS[key]!, startSample: Math.max(0, this.#hops - BLOCKS_ON - 1) * this.#hop };
  }

  /** The key whose tones make up the last two hops, or -1. */
  #classify(energy: number): number {
    const both = energy + this.#halfEnergy;
    this.#halfEnergy = energy;
    const least = LEAST_AMPLITUDE ** 2 * this.#hop;
    // Silence costs next to nothing: half a block with both tones has this energy at least.
    if (energy < least / 2) {
      if (!this.#isSilent) this.#halves.fill(0);
      this.#isSilent = true;
      return -1;
    }
    this.#isSilent = false;
    this.#bank.measure(this.#block);
    this.#combine();

    // Powers as energies of the block: A^2 N / 2 for a tone of amplitude A.
    const length = 2 * this.#hop;
    const powers = this.#powers;
    for (let i = 0; i < BANK_SIZE; i++) {
      powers[i] = ((this.#now[2 * i]! ** 2 + this.#now[2 * i + 1]! ** 2) * 2) / length;
    }
    const row = strongest(powers, 0);
    const column = strongest(powers, 4);
    if (row < 0 || column < 0) return -1;
    const rowPower = powers[row]!;
    const columnPower = powers[column]!;
    if (rowPower < least || columnPower < least) return -1;
    if (rowPower > columnPower * MAX_ROW_OVER_COLUMN || columnPower > rowPower * MAX_COLUMN_OVER_ROW) return -1;
    if (rowPower + columnPower < MIN_SHARE * both) return -1;
    return row * 4 + (column - 4);
  }

  /** This block's values: the last hop's, turned to the end of this one, and this one's. */
  #combine(): void {
    const fresh = this.#bank.values;
    const out = this.#before;
    for (let i = 0; i < 2 * BANK_SIZE; i += 2) {
      const re = this.#halves[i]!;
      const im = this.#halves[i + 1]!;
      out[i] = re * this.#turns[i]! - im * this.#turns[i + 1]! + fresh[i]!;
      out[i + 1] = re * this.#turns[i + 1]! + im * this.#turns[i]! + fresh[i + 1]!;
    }
    this.#halves.set(fresh);
    this.#before = this.#now;
    this.#now = out;
  }

  /** Whether both tones of the key have turned as they should since the block before. */
  #steady(key: number): boolean {
    return this.#aligned(key >> 2) && this.#aligned(4 + (key & 3));
  }

  #aligned(index: number): boolean {
    const i = 2 * index;
    const cos = this.#turns[i]!;
    const sin = this.#turns[i + 1]!;
    const re = this.#before[i]! * cos - this.#before[i + 1]! * sin;
    const im = this.#before[i]! * sin + this.#before[i + 1]! * cos;
    const along = re * this.#now[i]! + im * this.#now[i + 1]!;
    return along >= this.#leastAlignment[index]! * Math.hypot(re, im) * Math.hypot(this.#now[i]!, this.#now[i + 1]!);
  }
}

/** The strongest of the four from `first`, or -1 where another comes near. */
function strongest(powers: Float64Array, first: number): number {
  let best = first;
  for (let i = first + 1; i < first + 4; i++) if (powers[i]! > powers[best]!) best = i;
  for (let i = first; i < first + 4; i++) {
    if (i !== best && powers[i]! * MIN_OVER_OTHERS > powers[best]!) return -1;
  }
  return best;
}

/** A key's tone and the silence after it, as phone systems need them, and what a `w` waits. */
export const KEY_ON_MS = 100;
export const KEY_OFF_MS = 100;
export const WAIT_MS = 500;

/** How long keys take to be sent. */
export function dialMs(keys: string): number {
  return [...keys].reduce((sum, key) => sum + (key === 'w' ? WAIT_MS : KEY_ON_MS + KEY_OFF_MS), 0);
}

/**
 * Keys as tones to be played: 0-9, *, #, A-D, each 100 ms and 100 ms of silence; `w` waits 500 ms.
 *
 * @throws RangeError for anything else
 */
export function dialTones(keys: string, sampleRateHz: number): Int16Array {
  const out = new Int16Array(msToSamples(dialMs(keys), sampleRateHz));
  let at = 0;
  for (const part of keys.match(/w|[^w]+/g) ?? []) {
    if (part !== 'w') {
      out.set(dtmfTones(part, sampleRateHz, { onMs: KEY_ON_MS, offMs: KEY_OFF_MS }), at);
    }
    at += msToSamples(dialMs(part), sampleRateHz);
  }
  return out;
}
