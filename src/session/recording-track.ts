/** A gap that was filled with silence, and may still turn out to be shorter than it looked. */
interface Pad {
  at: number;
  length: number;
}

/** Sound that comes this much late, in seconds, is late; beyond it there was a gap. */
const LATE_S = 0.2;
/** Sound this much early, in seconds, shows that the last gap was none: the line had only stood still. */
const EARLY_S = 0.04;
/** Frames of one run come so far apart at most, in seconds: five late ticks are made up in one go. */
const RUN_S = 0.12;
/** Sound further ahead of time than this, in seconds, is left out: nobody can have said it yet. */
const AHEAD_S = 15;

/**
 * One side of a recording on its way to the disk: samples at their places on the session's time, of which the oldest
 * are taken away. Positions are counted in samples from the opening of the line.
 */
export class RecordingTrack {
  readonly #rateHz: number;
  #buffer: Int16Array;
  /** Position of the buffer's first sample. */
  #start = 0;
  /** Position behind the last sample. */
  #end = 0;
  #pad: Pad | null = null;
  #inRun = false;
  #isFirst = true;

  constructor(sampleRateHz: number) {
    this.#rateHz = sampleRateHz;
    this.#buffer = new Int16Array(4 * sampleRateHz);
  }

  /** Position behind the last sample. */
  get end(): number {
    return this.#end;
  }

  /**
   * What was heard until just now. It goes on where the last ended, so that jitter does not tear it; after a real gap,
   * and the first time, its last sample is put at `now`.
   */
  heard(samples: Int16Array, now: number): void {
    const lag = now - (this.#end + samples.length);
    if (lag < -AHEAD_S * this.#rateHz) return;
    if (lag > (this.#isFirst ? 0 : LATE_S * this.#rateHz)) {
      this.#pad = { at: this.#end, length: lag };
      this.#end += lag;
    } else if (lag < -EARLY_S * this.#rateHz) this.#shorten(-lag);
    this.#isFirst = false;
    this.#append(samples);
  }

  /**
   * What the line is given to play from now on. It is heard at once, or when what it was given before has been played:
   * frames of one run are joined to the sample, however exactly their ticks came.
   */
  given(frame: Int16Array | null, now: number): void {
    const before = this.#inRun;
    this.#inRun = frame !== null;
    if (frame === null) return;
    if (!before || now - this.#end > RUN_S * this.#rateHz) this.#end = Math.max(this.#end, now);
    this.#append(frame);
  }

  /** The line has stopped at `now`: returns what it was given and will not be heard now, and forgets it. */
  takeBack(now: number): Int16Array {
    const from = Math.max(now, this.#start);
    const count = Math.max(0, this.#end - from);
    const at = from - this.#start;
    const samples = this.#buffer.slice(at, at + count);
    this.#buffer.fill(0, at, at + count);
    this.#end -= count;
    this.#inRun = false;
    return samples;
  }

  /** Takes the oldest samples away; what is not there is silence. */
  take(count: number): Int16Array {
    const out = new Int16Array(count);
    const there = Math.max(0, Math.min(count, this.#end - this.#start, this.#buffer.length));
    out.set(this.#buffer.subarray(0, there));
    this.#buffer.copyWithin(0, count);
    this.#buffer.fill(0, Math.max(0, this.#buffer.length - count));
    this.#start += count;
    this.#end = Math.max(this.#end, this.#start);
    if (this.#pad !== null && this.#pad.at < this.#start) {
      this.#pad.length -= this.#start - this.#pad.at;
      this.#pad.at = this.#start;
      if (this.#pad.length <= 0) this.#pad = null;
    }
    return out;
  }

  /** What came after the gap moves up to where it belongs. */
  #shorten(by: number): void {
    const pad = this.#pad;
    if (pad === null) return;
    const count = Math.min(by, pad.length);
    const at = pad.at - this.#start;
    this.#buffer.copyWithin(at, at + count, this.#end - this.#start);
    this.#buffer.fill(0, this.#end - this.#start - count, this.#end - this.#start);
    this.#end -= count;
    pad.length -= count;
  }

  #append(samples: Int16Array): void {
    const at = this.#end - this.#start;
    const needed = at + samples.length;
    if (needed > this.#buffer.length) {
      const larger = new Int16Array(Math.max(needed, 2 * this.#buffer.length));
      larger.set(this.#buffer);
      this.#buffer = larger;
    }
    this.#buffer.set(samples, at);
    this.#end += samples.length;
  }
}
