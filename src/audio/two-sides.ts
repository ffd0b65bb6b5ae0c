import { resamplerBetween, type Resampler } from './dsp/resample.js';
import { mix } from './dsp/mix.js';

/** What a listener hears: both sides as one, one of them, or the user on the left and the agent on the right. */
export type Channels = 'mixed' | 'user' | 'agent' | 'stereo';

/** Audio of one side as a line has it. */
export interface SideFrame {
  side: 'user' | 'agent';
  /** Mono. */
  samples: Int16Array;
  sampleRateHz: number;
  /** Position of its first sample since the line opened. */
  atSample: number;
}

const BLOCK_MS = 20;
/** Nobody waits longer for a side that is behind the other one. What comes of it later goes on from there. */
const LATE_MS = 80;
/** Longest silence that fills a gap; after a longer one the side goes on where it is. */
const MAX_GAP_S = 2;

/** Joins the two sides of a line, which come in pieces of any length and at rates of their own, into blocks of 20 ms. */
export class TwoSides {
  readonly #rateHz: number;
  readonly #channels: Channels;
  readonly #block: number;
  readonly #sides: Readonly<Record<'user' | 'agent', Side>>;
  /** Seconds since the line opened at which the first block begins. */
  #originS: number | null = null;
  /** First sample of the next block. */
  #at = 0;

  /** @throws ParleyError AUDIO_RATE_UNSUPPORTED */
  constructor(rateHz: number, channels: Channels) {
    this.#rateHz = rateHz;
    this.#channels = channels;
    this.#block = (rateHz * BLOCK_MS) / 1000;
    this.#sides = { user: new Side(rateHz), agent: new Side(rateHz) };
  }

  /** Takes a frame. Returns the blocks that are complete, with two interleaved samples an instant for `stereo`. */
  push({ side, samples, sampleRateHz, atSample }: SideFrame): Int16Array[] {
    const atS = atSample / sampleRateHz;
    this.#originS ??= atS;
    const at = Math.round((atS - this.#originS) * this.#rateHz);
    this.#sides[side].push(samples, { fromHz: sampleRateHz, at, takenTo: this.#at });
    const { user, agent } = this.#sides;
    const first = Math.min(user.end, agent.end);
    const last = Math.max(user.end, agent.end) - (this.#rateHz * LATE_MS) / 1000;
    const blocks: Int16Array[] = [];
    while (this.#at + this.#block <= Math.max(first, last)) {
      blocks.push(this.#next());
    }
    return blocks;
  }

  #next(): Int16Array {
    const to = this.#at + this.#block;
    const user = this.#sides.user.take(this.#at, to);
    const agent = this.#sides.agent.take(this.#at, to);
    this.#at = to;
    if (this.#channels === 'user') return user;
    if (this.#channels === 'agent') return agent;
    if (this.#channels === 'mixed') {
      mix(user, [user, agent]);
      return user;
    }
    const both = new Int16Array(2 * this.#block);
    for (let i = 0; i < this.#block; i++) {
      both[2 * i] = user[i]!;
      both[2 * i + 1] = agent[i]!;
    }
    return both;
  }
}

/** One side, at the listener's rate. */
class Side {
  readonly #rateHz: number;
  #resampler: Resampler | null = null;
  #fromHz = 0;
  /** By how much the side goes on later than it says, because a part of it came too late. */
  #lag = 0;
  /** What was not taken yet, from `#start` on. */
  #samples = new Int16Array(0);
  #start = 0;

  constructor(rateHz: number) {
    this.#rateHz = rateHz;
  }

  /** Behind its last sample. */
  get end(): number {
    return this.#start + this.#samples.length;
  }

  /**
   * @param at position of the first sample at the listener's rate; before 0 = before the first block
   * @param takenTo first sample of the next block
   */
  push(samples: Int16Array, { fromHz, at, takenTo }: { fromHz: number; at: number; takenTo: number }): void {
    const length = (samples.length * this.#rateHz) / fromHz;
    // Before the first block, a side may have begun a little earlier than the other one.
    const early = takenTo === 0 ? (this.#rateHz * LATE_MS) / 1000 : 0;
    if (at + this.#lag + length <= takenTo - early) this.#lag = takenTo - at;
    if (this.#fromHz !== fromHz) {
      this.#fromHz = fromHz;
      this.#resampler = resamplerBetween(fromHz, this.#rateHz);
    }
    const gap = at + this.#lag - this.end;
    // Positions at the other rate are rounded: a sample more or less is no gap.
    if (gap > 1) this.#skip(gap);
    const past = gap < -1 ? Math.round((-gap * fromHz) / this.#rateHz) : 0;
    if (past >= samples.length) return;
    const rest = samples.subarray(past);
    this.#append(this.#resampler === null ? rest : this.#resampler.process(rest));
  }

  #skip(gap: number): void {
    if (gap <= MAX_GAP_S * this.#rateHz) {
      this.#append(new Int16Array(gap));
      return;
    }
    this.#start = this.end + gap;
    this.#samples = new Int16Array(0);
  }

  #append(more: Int16Array): void {
    const joined = new Int16Array(this.#samples.length + more.length);
    joined.set(this.#samples);
    joined.set(more, this.#samples.length);
    this.#samples = joined;
  }

  /** The samples from `from` to `to`; silence where there are none. Those before `to` are forgotten. */
  take(from: number, to: number): Int16Array {
    const out = new Int16Array(to - from);
    const first = Math.max(from, this.#start);
    const last = Math.min(to, this.end);
    if (first < last) out.set(this.#samples.subarray(first - this.#start, last - this.#start), first - from);
    const used = Math.min(Math.max(0, to - this.#start), this.#samples.length);
    this.#samples = this.#samples.slice(used);
    this.#start = this.#samples.length === 0 ? Math.max(this.#start + used, to) : this.#start + used;
    return out;
  }
}
