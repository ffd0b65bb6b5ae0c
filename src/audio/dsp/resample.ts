import { polyphase as fastest, type Polyphase } from './polyphase.js';
import { checkRate } from '../frame.js';
import { sincTable, type SincTable } from './sinc-table.js';

/** Input samples taken at once; longer input goes in pieces. */
const CHUNK = 960;

/** What is being filtered: the past of the resampler that is at work, then the new samples. One for all of a thread. */
let history = new Float64Array(0);

/**
 * Streaming resampler between any two whole rates from 8 to 48 kHz. State is kept from call to call: however the
 * input is cut, the same output comes out, to the bit, on every machine.
 *
 * After n input samples, `ceil(n * toHz / fromHz)` samples have come out: 20 ms frames in give 20 ms frames out,
 * each exactly as long where 20 ms are whole at both rates. What comes out lags by `delaySamples`.
 *
 * Quality (measured in test/audio/dsp/resample.test.ts): flat within 0.01 dB up to 0.83 of the lower rate's Nyquist
 * frequency (3.3 kHz for 8 kHz, 6.6 kHz for 16 kHz); aliases and images at least 80 dB down.
 */
export class Resampler {
  /** By how many output samples the output lags; a fraction where the rates' ratio is not simple. 32 at 48 to 16 kHz. */
  readonly delaySamples: number;
  readonly #table: SincTable | undefined;
  readonly #run: Polyphase;
  /** The last `taps - 1` samples. */
  readonly #past: Int16Array;
  /** Offset of the next output's newest input sample in the input to come. */
  #lead = 0;
  /** Its phase, 0 to phases - 1. */
  #phase = 0;
  /** Result of `process`, reallocated only when its length changes. */
  #out = new Int16Array(0);
  #store = new Int16Array(CHUNK);

  /**
   * @param run the inner loop; another one than the default serves tests and benchmarks
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(
    readonly fromHz: number,
    readonly toHz: number,
    run: Polyphase = fastest,
  ) {
    checkRate(fromHz);
    checkRate(toHz);
    this.#run = run;
    this.#table = fromHz === toHz ? undefined : sincTable(fromHz, toHz);
    this.#past = new Int16Array(this.#table ? this.#table.taps - 1 : 0);
    if (history.length < this.#past.length + CHUNK) history = new Float64Array(this.#past.length + CHUNK);
    this.delaySamples = this.#table ? (this.#table.delay * toHz) / fromHz : 0;
  }

  /** How many samples `process` will give for the next `inputLength`. */
  outputLength(inputLength: number): number {
    const table = this.#table;
    if (!table) return inputLength;
    return Math.max(0, Math.ceil(((inputLength - this.#lead) * table.phases - this.#phase) / table.step));
  }

  /** Resamples the next piece of any length. The result is overwritten by the next call: copy what must last. */
  process(input: Int16Array): Int16Array {
    const length = this.outputLength(input.length);
    if (this.#store.length < length) this.#store = new Int16Array(length);
    if (this.#out.length !== length) this.#out = this.#store.subarray(0, length);
    this.processInto(input, this.#out);
    return this.#out;
  }

  /**
   * As `process`, into `out`; returns the samples written.
   *
   * @throws RangeError where `out` is shorter than `outputLength(input.length)`
   */
  processInto(input: Int16Array, out: Int16Array): number {
    if (out.length < this.outputLength(input.length)) {
      throw new RangeError(`${out.length} samples do not hold the ${this.outputLength(input.length)} of the output`);
    }
    const table = this.#table;
    if (!table) {
      out.set(input);
      return input.length;
    }
    let written = 0;
    for (let at = 0; at < input.length; at += CHUNK) {
      const piece = input.length <= CHUNK ? input : input.subarray(at, at + CHUNK);
      written += this.#runPiece(table, piece, written === 0 ? out : out.subarray(written));
    }
    return written;
  }

  /** The end of the audio: what is still in the filter, after which the resampler is as new. */
  flush(): Int16Array {
    const out = this.process(new Int16Array(this.#table?.delay ?? 0));
    this.reset();
    return out;
  }

  /** Forgets the past. */
  reset(): void {
    this.#past.fill(0);
    this.#lead = 0;
    this.#phase = 0;
  }

  #runPiece(table: SincTable, piece: Int16Array, out: Int16Array): number {
    const { phases, step, rows, taps, coefficients } = table;
    const past = this.#past;
    const kept = taps - 1;
    for (let i = 0; i < kept; i++) history[i] = past[i]!;
    for (let i = 0; i < piece.length; i++) history[kept + i] = piece[i]!;
    const count = this.outputLength(piece.length);
    this.#run(history, coefficients, out, count, this.#lead, this.#phase, phases, step, rows);
    const moved = this.#phase + count * step;
    this.#lead += Math.floor(moved / phases) - piece.length;
    this.#phase = moved % phases;
    for (let i = 0; i < kept; i++) past[i] = history[piece.length + i]!;
    return count;
  }
}

/** A resampler; null where there is nothing to do. @throws ParleyError AUDIO_RATE_UNSUPPORTED */
export function resamplerBetween(fromHz: number, toHz: number): Resampler | null {
  return fromHz === toHz ? null : new Resampler(fromHz, toHz);
}

/**
 * Resamples a whole recording without shifting it: `round(n * toHz / fromHz)` samples, the first at the same instant
 * as the input's first (to within half a sample). Same rates: the input itself.
 *
 * @throws ParleyError AUDIO_RATE_UNSUPPORTED
 */
export function resample(samples: Int16Array, fromHz: number, toHz: number): Int16Array {
  const resampler = new Resampler(fromHz, toHz);
  if (fromHz === toHz) return samples;
  const skip = Math.round(resampler.delaySamples);
  const head = resampler.outputLength(samples.length);
  const out = new Int16Array(head + skip + 2);
  resampler.processInto(samples, out);
  out.set(resampler.flush(), head);
  return out.subarray(skip, skip + Math.round((samples.length * toHz) / fromHz));
}
