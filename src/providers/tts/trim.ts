/**
 * Takes the silence off both ends of one piece of speech while it streams past; silence inside stays. What comes
 * out depends only on the samples, not on the blocks they came in.
 */

/** What is kept before the first and after the last sound, so that soft beginnings and ends are not cut. */
const GUARD_MS = 10;
/** A smaller sample is silent: -50 dBFS. */
const SILENT_BELOW = 104;

export class SilenceTrimmer {
  readonly #guard: number;
  /** Before the first sound: its guard. After it: the last loud sample and the silence after it. */
  #held = new Int16Array(0);
  #started = false;
  #leading = 0;

  constructor(sampleRateHz: number) {
    this.#guard = Math.round((sampleRateHz * GUARD_MS) / 1000);
  }

  /** Samples taken off the beginning. Final once `push` has given something. */
  get leadingSamples(): number {
    return this.#leading;
  }

  /** @returns what can be passed on by now; may be empty */
  push(samples: Int16Array): Int16Array {
    let all = join(this.#held, samples);
    if (!this.#started) {
      const first = all.findIndex(isSound);
      const cut = Math.max(0, (first < 0 ? all.length : first) - this.#guard);
      this.#leading += cut;
      this.#started = first >= 0;
      all = all.subarray(cut);
    }
    const end = this.#started ? all.findLastIndex(isSound) : 0;
    this.#held = all.slice(end);
    return all.slice(0, end);
  }

  /** @returns the end of the speech, its guard included: empty only where there was no sound at all */
  finish(): Int16Array {
    const end = this.#held.slice(0, this.#started ? 1 + this.#guard : 0);
    this.#held = new Int16Array(0);
    return end;
  }
}

function isSound(sample: number): boolean {
  return sample >= SILENT_BELOW || sample <= -SILENT_BELOW;
}

function join(a: Int16Array, b: Int16Array): Int16Array {
  const out = new Int16Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
