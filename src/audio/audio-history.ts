/** The latest audio of a session, so that listeners can start before the VAD's onset. */
export class AudioHistory {
  readonly #ring: Int16Array;
  #end = 0;
  #length = 0;

  constructor(capacitySamples: number) {
    this.#ring = new Int16Array(capacitySamples);
  }

  /** Position of the oldest sample. */
  get start(): number {
    return this.#end - this.#length;
  }

  /** Position after the newest sample. */
  get end(): number {
    return this.#end;
  }

  /** Appends audio that starts at `startSample`. A gap in the count empties the history first. */
  write(samples: Int16Array, startSample: number): void {
    if (startSample !== this.#end) {
      this.#length = 0;
      this.#end = startSample;
    }
    const capacity = this.#ring.length;
    this.#end += samples.length;
    const kept = samples.length > capacity ? samples.subarray(samples.length - capacity) : samples;
    const at = (this.#end - kept.length) % capacity;
    const first = Math.min(kept.length, capacity - at);
    this.#ring.set(kept.subarray(0, first), at);
    this.#ring.set(kept.subarray(first), 0);
    this.#length = Math.min(capacity, this.#length + kept.length);
  }

  /** A copy of the audio from `fromSample` (or the oldest sample) to the newest. */
  readFrom(fromSample: number): Int16Array {
    const from = Math.min(this.#end, Math.max(fromSample, this.start));
    const copy = new Int16Array(this.#end - from);
    const at = from % this.#ring.length;
    const first = Math.min(copy.length, this.#ring.length - at);
    copy.set(this.#ring.subarray(at, at + first), 0);
    copy.set(this.#ring.subarray(0, copy.length - first), first);
    return copy;
  }
}
