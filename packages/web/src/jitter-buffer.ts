import { LINE_RATE_HZ } from './worklet-messages.js';

/** Audio to buffer before playing starts: initially, and at most on a bad line. */
const MIN_TARGET_MS = 60;
const MAX_TARGET_MS = 200;
/** Increase of the buffer after late audio, and decrease after a time without. */
const TARGET_STEP_MS = 20;
const GOOD_MS = 15_000;
/** Audio within this time after an underrun was late; later audio is simply the next. */
const LATE_MS = 200;
/**
 * With this much more than its target, the buffer catches up by skipping silence. The server's lead of up to 500 ms is
 * not a surplus.
 */
const SURPLUS_MS = 580;
/** Maximum size; older audio is dropped. */
const MAX_MS = 5000;
/** Fades at a hold, a drop, and an underrun. */
const FADE_SAMPLES = LINE_RATE_HZ / 200;
/** Samples below this share of full scale are silence. */
const SILENCE = 16 / 32_768;

/**
 * Smooths the arrival of the agent's audio: buffers a little before it starts, adapts the amount to late audio, and
 * fades instead of clicking. Mono at 16 kHz; time is the number of pulled samples.
 */
export class PlaybackJitterBuffer {
  readonly #blocks: Float32Array[] = [];
  #offset = 0;
  #buffered = 0;
  #state: 'dry' | 'filling' | 'playing' = 'dry';
  #held = false;
  /** The end of dropped audio, to be faded out. */
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

  /** Received audio. While held, the server sends only a fade for simpler clients, which is dropped. */
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

  /** Fades out within 5 ms and keeps unplayed audio. */
  hold(): void {
    this.#held = true;
  }

  /** Continues where it was held. */
  resume(): void {
    this.#held = false;
  }

  /** Fades out within 5 ms and drops everything. */
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

  /** Fills `out` with the next audio, including silence. */
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

  /** Starts when enough is buffered, or after a wait that shows that no more will come. */
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

  /** Moves the oldest samples into `out`, which is not longer than the buffer. */
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
