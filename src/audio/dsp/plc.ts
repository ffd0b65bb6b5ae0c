import { checkRate } from '../frame.js';

/** The span of pitch periods that are looked for: 200 Hz to 67 Hz. Higher voices are found at a multiple. */
const SHORTEST_MS = 5;
export const LONGEST_PERIOD_MS = 15;
/** The stretch, at the end, that is compared with what lies a period before it. */
const WINDOW_MS = 20;
/** Step of the first pass over samples and periods. */
const COARSE_RATE_HZ = 8_000;

/**
 * The period, in samples, with which the end of `samples` repeats: the lag of the largest normalised correlation, first
 * on a coarse grid, then around its best point. At least 35 ms of audio are needed. For silence or noise it is some
 * period in the span.
 */
export function pitchPeriod(samples: Float64Array, sampleRateHz: number): number {
  const shortest = Math.round((SHORTEST_MS * sampleRateHz) / 1000);
  const longest = Math.round((LONGEST_PERIOD_MS * sampleRateHz) / 1000);
  const stride = Math.max(1, Math.round(sampleRateHz / COARSE_RATE_HZ));
  const from = samples.length - Math.round((WINDOW_MS * sampleRateHz) / 1000);
  const coarse = bestLag(samples, from, shortest, longest, stride);
  if (stride === 1) return coarse;
  return bestLag(samples, from, Math.max(shortest, coarse - stride + 1), Math.min(longest, coarse + stride - 1), 1);
}

function bestLag(samples: Float64Array, from: number, shortest: number, longest: number, stride: number): number {
  let best = shortest;
  let bestScore = -Infinity;
  for (let lag = shortest; lag <= longest; lag += stride) {
    let product = 0;
    let energy = 1;
    for (let i = from; i < samples.length; i += stride) {
      const before = samples[i - lag]!;
      product += samples[i]! * before;
      energy += before * before;
    }
    const score = product / Math.sqrt(energy);
    if (score > bestScore) {
      bestScore = score;
      best = lag;
    }
  }
  return best;
}

/** As many periods as are ever repeated, and the quarter that is blended at their seam. */
const MAX_PERIODS = 3;
const SEAM = 1 / 4;
/** Concealment is at full level so long, then falls in a straight line to silence. */
const HOLD_MS = 10;
const SILENT_AFTER_MS = 60;
/** Every so long one period more is repeated, so that a long gap does not buzz. */
const MORE_PERIODS_EVERY_MS = 10;
/** The blend into the audio that comes back grows by this for each 10 ms lost, up to the second figure. */
const BLEND_GROWTH_MS = 4;
const MAX_BLEND_MS = 10;

/**
 * Fills the gaps that lost packets leave, after the idea of ITU-T G.711 Appendix I but without its delay: the last
 * pitch periods repeat, with blended seams, and fade out within 60 ms; returning audio is blended in. Any sample rate,
 * frames of any length. Pass every frame through `accept` and call `conceal` for each that is missing.
 */
export class LossConcealer {
  /**
   * The most recent audio, as it was played, in a ring: with hundreds of calls, memory access
   * dominates the cost of a frame, so a frame without loss touches as little memory as possible.
   */
  readonly #past: Int16Array;
  /** Where in the ring the next sample goes, and the oldest one is. */
  #oldest = 0;
  /** The past as it was when the gap began. */
  readonly #source: Float64Array;
  readonly #blend: Float64Array;
  #concealing = false;
  #period = 0;
  /** Samples made since the gap began. */
  #elapsed = 0;
  /** Next sample of the source, and where it loops to at its end. */
  #at = 0;
  #next = 0;
  /** How far the last real sample lies from what the repetition expects before its first. */
  #step = 0;

  /** @throws ParleyError AUDIO_RATE_UNSUPPORTED outside 8 to 48 kHz */
  constructor(readonly sampleRateHz: number) {
    checkRate(sampleRateHz);
    const length = Math.ceil(((MAX_PERIODS + SEAM) * LONGEST_PERIOD_MS * sampleRateHz) / 1000) + 1;
    this.#past = new Int16Array(length);
    this.#source = new Float64Array(length);
    this.#blend = new Float64Array(this.#samples(MAX_BLEND_MS));
  }

  /** Whether the last frame was concealed. */
  get concealing(): boolean {
    return this.#concealing;
  }

  /** Takes a frame that has arrived. After a gap its beginning (10 ms at most) is changed in place. */
  accept(frame: Int16Array): void {
    if (this.#concealing) {
      const grown = this.#period * SEAM + (BLEND_GROWTH_MS * this.#elapsed) / MORE_PERIODS_EVERY_MS;
      const length = Math.min(frame.length, this.#blend.length, Math.round(grown));
      this.#generate(this.#blend, length);
      for (let i = 0; i < length; i++) {
        const weight = rise(i, length);
        frame[i] = toSample(this.#blend[i]! * (1 - weight) + frame[i]! * weight);
      }
      this.#concealing = false;
    }
    this.#remember(frame);
  }

  /** Fills `out` with what might have been there. */
  conceal(out: Int16Array): void {
    if (!this.#concealing) this.#begin();
    for (let at = 0; at < out.length;) {
      const count = Math.min(out.length - at, this.#blend.length);
      this.#generate(this.#blend, count);
      for (let i = 0; i < count; i++) out[at + i] = toSample(this.#blend[i]!);
      at += count;
    }
    this.#remember(out);
  }

  #begin(): void {
    const past = this.#past;
    const oldest = this.#oldest;
    this.#source.set(past.subarray(oldest));
    this.#source.set(past.subarray(0, oldest), past.length - oldest);
    const end = this.#source.length;
    this.#period = pitchPeriod(this.#source, this.sampleRateHz);
    this.#at = end - this.#period;
    this.#next = this.#at;
    this.#step = this.#source[end - 1]! - this.#source[this.#at - 1]!;
    this.#elapsed = 0;
    this.#concealing = true;
  }

  /** The next `count` samples of the repetition. */
  #generate(out: Float64Array, count: number): void {
    const source = this.#source;
    const seam = Math.floor(this.#period * SEAM);
    const tail = source.length - seam;
    const hold = this.#samples(HOLD_MS);
    const decay = this.#samples(SILENT_AFTER_MS) - hold;
    let at = this.#at;
    let elapsed = this.#elapsed;
    for (let i = 0; i < count; i++, elapsed++) {
      const gain = 1 - (elapsed - hold) / decay;
      if (gain <= 0) {
        out[i] = 0;
        continue;
      }
      if (at === tail) this.#next = source.length - this.#period * this.#periods(elapsed);
      let value = source[at]!;
      if (at >= tail) value += (source[this.#next - source.length + at]! - value) * rise(at - tail, seam);
      if (elapsed < seam) value += this.#step * (1 - rise(elapsed, seam));
      out[i] = gain < 1 ? value * gain : value;
      at++;
      if (at === source.length) at = this.#next;
    }
    this.#at = at;
    this.#elapsed = elapsed;
  }

  /** How many periods the next round repeats. */
  #periods(elapsed: number): number {
    return Math.min(MAX_PERIODS, 1 + Math.floor(elapsed / this.#samples(MORE_PERIODS_EVERY_MS)));
  }

  #remember(frame: Int16Array): void {
    const past = this.#past;
    const { length } = past;
    const fresh = frame.length > length ? frame.subarray(frame.length - length) : frame;
    const to = this.#oldest;
    const fits = Math.min(fresh.length, length - to);
    if (fits === fresh.length) past.set(fresh, to);
    else {
      past.set(fresh.subarray(0, fits), to);
      past.set(fresh.subarray(fits));
    }
    this.#oldest = (to + fresh.length) % length;
  }

  #samples(ms: number): number {
    return Math.round((ms * this.sampleRateHz) / 1000);
  }
}

/** Half a period of a raised cosine: from just above 0 to just below 1 while `i` goes from 0 to `length - 1`. */
function rise(i: number, length: number): number {
  return 0.5 - 0.5 * Math.cos((Math.PI * (i + 1)) / (length + 1));
}

function toSample(value: number): number {
  return value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : Math.round(value);
}
