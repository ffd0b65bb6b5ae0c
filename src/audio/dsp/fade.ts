/**
 * Gain that moves without clicks: from one value to another along half a period of a raised cosine, which has no
 * corner at either end. The state runs on across frames of any length.
 */
export class Fader {
  #from: number;
  #to: number;
  #at = 0;
  #length = 0;

  /** @param gain where it starts: 0 is silence, 1 leaves the audio as it is; values above 1 are cut at full scale. */
  constructor(gain = 1) {
    this.#from = gain;
    this.#to = gain;
  }

  /** The gain of the next sample. */
  get gain(): number {
    return this.#at < this.#length ? this.#curve(this.#at) : this.#to;
  }

  /** Whether a fade is under way. */
  get fading(): boolean {
    return this.#at < this.#length;
  }

  /** Starts towards `gain` from wherever it is now, arriving after `samples` samples (0: at once). */
  fadeTo(gain: number, samples: number): void {
    this.#from = this.gain;
    this.#to = gain;
    this.#at = 0;
    this.#length = Math.max(0, Math.round(samples));
  }

  /** Applies the gain in place and moves on by the frame's length. */
  apply(samples: Int16Array): void {
    let i = 0;
    for (; i < samples.length && this.#at < this.#length; i++, this.#at++) {
      samples[i] = clip(samples[i]! * this.#curve(this.#at));
    }
    const gain = this.#to;
    if (gain === 1) return;
    if (gain === 0) samples.fill(0, i);
    else for (; i < samples.length; i++) samples[i] = clip(samples[i]! * gain);
  }

  /** The first sample of a fade has moved already and the one after the last has arrived. */
  #curve(at: number): number {
    const moved = 0.5 - 0.5 * Math.cos((Math.PI * (at + 1)) / (this.#length + 1));
    return this.#from + (this.#to - this.#from) * moved;
  }
}

/** Fades the first `length` samples in, in place. */
export function fadeIn(samples: Int16Array, length: number): void {
  const fader = new Fader(0);
  fader.fadeTo(1, Math.min(length, samples.length));
  fader.apply(samples);
}

/** Fades the last `length` samples out, in place. */
export function fadeOut(samples: Int16Array, length: number): void {
  const count = Math.min(length, samples.length);
  const fader = new Fader(1);
  fader.fadeTo(0, count);
  fader.apply(samples.subarray(samples.length - count));
}

function clip(value: number): number {
  return value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : Math.round(value);
}
