import { dbToGain } from '../dsp/level.js';
import { checkRate } from '../frame.js';

/** Long enough that a tone starts and ends without a click, short enough to leave a 40 ms digit alone. */
const RAMP_MS = 4;

export interface ToneOptions {
  /** Sounding together: one for a beep, two for most call-progress tones. Each from 0 to half the sample rate. */
  readonly frequenciesHz: readonly number[];
  /** Level of each frequency, as its amplitude: 0 dBFS is a sine at full scale. Default -16. */
  readonly levelDbfs?: number | readonly number[];
  /** On, off, on, off … in milliseconds. Default: on without end. */
  readonly cadenceMs?: readonly number[];
  /** Whether the cadence starts again at its end. Default true. */
  readonly repeat?: boolean;
}

interface Part {
  readonly on: boolean;
  readonly samples: number;
}

/**
 * Makes a tone as it is read, such as a ringback (`{ frequenciesHz: [440, 480], cadenceMs: [2000, 4000] }`) or a
 * beep. Each burst rises and falls along a raised cosine of 4 ms inside its time. Phases start at zero with each
 * burst; every read continues exactly where the last one ended.
 */
export class ToneGenerator {
  readonly #steps: readonly number[];
  readonly #amplitudes: readonly number[];
  readonly #parts: readonly Part[];
  readonly #repeat: boolean;
  readonly #ramp: Float64Array;
  #part = 0;
  #at = 0;

  /**
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED outside 8 to 48 kHz; RangeError for a frequency outside 0 to half the
   * rate, or a cadence without any length
   */
  constructor(
    readonly sampleRateHz: number,
    options: ToneOptions,
  ) {
    checkRate(sampleRateHz);
    const { frequenciesHz, levelDbfs = -16, cadenceMs, repeat = true } = options;
    for (const frequency of frequenciesHz) {
      if (!(frequency > 0 && frequency < sampleRateHz / 2)) throw new RangeError(`No tone of ${frequency} Hz`);
    }
    this.#steps = frequenciesHz.map((frequency) => (2 * Math.PI * frequency) / sampleRateHz);
    this.#amplitudes = frequenciesHz.map((_, i) => {
      const level = typeof levelDbfs === 'number' ? levelDbfs : (levelDbfs[i] ?? levelDbfs.at(-1) ?? -16);
      return 32_767 * dbToGain(level);
    });
    this.#parts = cadenceParts(cadenceMs, sampleRateHz);
    this.#repeat = repeat && cadenceMs !== undefined;
    const ramp = Math.round((RAMP_MS * sampleRateHz) / 1000);
    this.#ramp = Float64Array.from({ length: ramp }, (_, i) => 0.5 - 0.5 * Math.cos((Math.PI * (i + 0.5)) / ramp));
  }

  /** Whether nothing but silence follows. */
  get ended(): boolean {
    return this.#part >= this.#parts.length;
  }

  /** Fills `out`, with silence once the tone has ended. */
  read(out: Int16Array): void {
    for (let i = 0; i < out.length;) {
      const part = this.#parts[this.#part];
      if (!part) {
        out.fill(0, i);
        return;
      }
      const count = Math.min(out.length - i, part.samples - this.#at);
      if (part.on) this.#fill(out, i, count, part.samples);
      else out.fill(0, i, i + count);
      i += count;
      this.#at += count;
      if (this.#at === part.samples) this.#nextPart();
    }
  }

  #nextPart(): void {
    this.#at = 0;
    this.#part++;
    if (this.#repeat && this.#part === this.#parts.length) this.#part = 0;
  }

  #fill(out: Int16Array, from: number, count: number, length: number): void {
    const ramp = this.#ramp;
    for (let i = 0; i < count; i++) {
      const at = this.#at + i;
      let value = 0;
      for (let f = 0; f < this.#steps.length; f++) value += this.#amplitudes[f]! * Math.sin(this.#steps[f]! * at);
      const edge = Math.min(at, length - 1 - at);
      if (edge < ramp.length) value *= ramp[edge]!;
      out[from + i] = value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : Math.round(value);
    }
  }
}

function cadenceParts(cadenceMs: readonly number[] | undefined, sampleRateHz: number): Part[] {
  if (!cadenceMs) return [{ on: true, samples: Infinity }];
  const parts = cadenceMs.map((ms, i) => ({ on: i % 2 === 0, samples: Math.round((ms * sampleRateHz) / 1000) }));
  if (!parts.some((part) => part.samples > 0)) throw new RangeError('A cadence needs some length');
  return parts.filter((part) => part.samples > 0);
}
