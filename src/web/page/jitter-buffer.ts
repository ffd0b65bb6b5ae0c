import { LINE_RATE_HZ } from './worklet-messages.js';

/** What is gathered at first before playing begins, and the most that a bad line makes it. */
const MIN_TARGET_MS = 60;
const MAX_TARGET_MS = 200;
/** How much more is gathered after audio was late, and how much less once it has been in time for a while. */
const TARGET_STEP_MS = 20;
const GOOD_MS = 15_000;
/** Audio that comes this soon after the buffer ran dry was late; after that it is simply the next thing said. */
const LATE_MS = 200;
/**
 * Beyond its target by this much, the buffer catches up by leaving out silence. The server sends up to its lead ahead of
 * time, which is no surplus: at most 500 ms.
 */
const SURPLUS_MS = 580;
/** The buffer never holds more; what is older gives way. */
const MAX_MS = 5000;
/** Fades at a hold, a drop, and where the buffer runs dry. */
const FADE_SAMPLES = LINE_RATE_HZ / 200;
/** Samples below this, as a part of full scale, are silence. */
const SILENCE = 16 / 32_768;

/**
 * Smooths the arrival of the agent's audio: gathers a little before it begins, learns from lateness how much that has
 * to be, and fades instead of clicking. Mono at 16 kHz; time is the count of samples that were pulled.
 */
export class PlaybackJitterBuffer {
  readonly #blocks: Float32Array[] = [];
  #offset = 0;
  #buffered = 0;
  #state: 'dry' | 'filling' | 'playing' = 'dry';
  #held = false;
  /** The end of what was dropped, to be faded out. */
  #tail = new Float32Array(0);
  #gain = 0;
  #now = 0;
  #dryAt = Number.NEGATIVE_INFINITY;
  #fillingSince = 0;
  #goodSince = 0;
  #targetMs = MIN_TARGET_MS;
  #played = 0;
  #underruns = 0;

  get playing(): boolean {
    return this.#state === 'playing' && !this.#held;
  }

  get held(): boolean {
    return this.#held;
  }

  get playedSamples(): number {
    return this.#played;
  }

  get bufferedMs(): number {
    return toMs(this.#buffered);
  }

  get targetMs(): number {
    return this.#targetMs;
  }

  get underruns(): number {
    return this.#underruns;
  }

  /** Audio that came. While held, nothing but a fade for simpler clients comes: it is left out. */
  push(samples: Int16Array): void {
    if (samples.length === 0 || this.#held) return;
    const block = Float32Array.from(samples, (sample) => sample / 32_768);
    if (this.#state === 'dry') {
      if (isSilent(block)) {
        // Silence needs no buffer; speech that ended in it was over.
        this.#dryAt = Number.NEGATIVE_INFINITY;
        return;
      }
      this.#begin();
    }
    if (this.#state === 'playing' && this.bufferedMs > this.#targetMs + SURPLUS_MS && isSilent(block)) return;
    this.#blocks.push(block);
    this.#buffered += block.length;
    while (this.bufferedMs > MAX_MS) this.#dropOldest();
  }

  /** Falls silent within 5 ms and keeps what has not been played. */
  hold(): void {
    this.#held = true;
  }

  /** Goes on where it was held. */
  resume(): void {
    this.#held = false;
  }

  /** Falls silent within 5 ms and drops everything. */
  clear(): void {
    this.#tail = new Float32Array(Math.min(FADE_SAMPLES, this.#gain > 0 ? this.#buffered : 0));
    this.#read(this.#tail);
    for (let index = 0; index < this.#tail.length; index++) {
      this.#tail[index]! *= this.#gain * (1 - (index + 1) / this.#tail.length);
    }
    this.#blocks.length = 0;
    this.#offset = 0;
    this.#buffered = 0;
    this.#held = false;
    this.#state = 'dry';
    this.#gain = 0;
    this.#dryAt = Number.NEGATIVE_INFINITY;
  }

  /** Fills `out` with what is to be heard next, silence included. */
  pull(out: Float32Array): void {
    out.fill(0);
    const count = Math.min(this.#tail.length, out.length);
    out.set(this.#tail.subarray(0, count));
    this.#tail = this.#tail.subarray(count);
    if (this.#state === 'filling' && !this.#held) this.#startWhenReady();
    if (this.#state === 'playing') this.#play(out);
    this.#now += out.length;
    if (this.playing && toMs(this.#now - this.#goodSince) > GOOD_MS) {
      this.#goodSince = this.#now;
      this.#targetMs = Math.max(MIN_TARGET_MS, this.#targetMs - TARGET_STEP_MS);
    }
  }

  #begin(): void {
    this.#state = 'filling';
    this.#fillingSince = this.#now;
    if (toMs(this.#now - this.#dryAt) >= LATE_MS) return;
    this.#underruns++;
    this.#goodSince = this.#now;
    this.#targetMs = Math.min(MAX_TARGET_MS, this.#targetMs + TARGET_STEP_MS);
  }

  /** Enough is there, or it has waited so long that this must be all. */
  #startWhenReady(): void {
    const waitedMs = toMs(this.#now - this.#fillingSince);
    if (this.bufferedMs >= this.#targetMs || waitedMs >= this.#targetMs) this.#state = 'playing';
  }

  #play(out: Float32Array): void {
    if (this.#held && this.#gain === 0) return;
    const wanted = this.#held ? Math.min(out.length, Math.ceil(this.#gain * FADE_SAMPLES)) : out.length;
    const block = new Float32Array(Math.min(wanted, this.#buffered));
    this.#read(block);
    this.#played += block.length;
    const dry = this.#buffered === 0;
    for (let index = 0; index < block.length; index++) {
      const toEnd = dry ? (block.length - 1 - index) / FADE_SAMPLES : 1;
      const wish = this.#held ? 0 : 1;
      this.#gain += clamp(wish - this.#gain, 1 / FADE_SAMPLES);
      out[index]! += block[index]! * Math.min(this.#gain, toEnd);
    }
    if (this.#held && wanted < out.length) this.#gain = 0;
    if (!dry) return;
    this.#state = 'dry';
    this.#gain = 0;
    // Speech that breaks off is late; after silence it was over.
    this.#dryAt = isSilent(block) ? Number.NEGATIVE_INFINITY : this.#now + block.length;
  }

  /** Moves the oldest samples into `out`, which is no longer than what is buffered. */
  #read(out: Float32Array): void {
    for (let filled = 0; filled < out.length;) {
      const block = this.#blocks[0];
      if (block === undefined) return;
      const part = block.subarray(this.#offset, this.#offset + out.length - filled);
      out.set(part, filled);
      filled += part.length;
      this.#offset += part.length;
      this.#buffered -= part.length;
      if (this.#offset < block.length) return;
      this.#blocks.shift();
      this.#offset = 0;
    }
  }

  #dropOldest(): void {
    this.#buffered -= (this.#blocks.shift()?.length ?? 0) - this.#offset;
    this.#offset = 0;
  }
}

function toMs(samples: number): number {
  return (samples * 1000) / LINE_RATE_HZ;
}

function clamp(value: number, limit: number): number {
  return Math.max(-limit, Math.min(limit, value));
}

function isSilent(samples: Float32Array): boolean {
  return samples.every((sample) => Math.abs(sample) <= SILENCE);
}
