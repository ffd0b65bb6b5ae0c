import { HEARING_RATE_HZ } from '../../../audio/frame.js';

/** Audio kept in addition to the lead, because a VAD reports speech late. */
const LATE_MS = 1000;

interface Stretch {
  samples: Int16Array;
  startSample: number;
}

/** Keeps the latest audio, to return it from shortly before the start of speech. */
export class LeadAudio {
  readonly #leadSamples: number;
  readonly #keptSamples: number;
  #kept: Stretch[] = [];
  #samples = 0;

  /** @param leadMs how much is given that lies before the speech */
  constructor(leadMs: number) {
    this.#leadSamples = (leadMs * HEARING_RATE_HZ) / 1000;
    this.#keptSamples = this.#leadSamples + (LATE_MS * HEARING_RATE_HZ) / 1000;
  }

  /** 16 kHz; copied. */
  push(samples: Int16Array, startSample: number): void {
    this.#kept.push({ samples: samples.slice(), startSample });
    this.#samples += samples.length;
    while (this.#samples - (this.#kept[0]?.samples.length ?? 0) > this.#keptSamples) {
      this.#samples -= this.#kept.shift()?.samples.length ?? 0;
    }
  }

  /** What there is from a little before `sample` on; it is kept no longer. */
  take(sample: number): Stretch[] {
    const from = sample - this.#leadSamples;
    const kept = this.#kept.filter(({ samples, startSample }) => startSample + samples.length > from);
    this.#kept = [];
    this.#samples = 0;
    return kept;
  }
}
