import { HEARING_RATE_HZ } from '../../../audio/frame.js';

/** Number of gaps that are remembered; earlier times are derived from the oldest. */
const MAX_ANCHORS = 64;

/**
 * Maps a vendor's time to the session's sample count: the vendor counts the audio that it received and does not know
 * what was left out.
 */
export class SampleMap {
  #anchors: { sentSample: number; sessionSample: number }[] = [];
  #sent = 0;
  #next = 0;

  /** `length` samples at 16 kHz are sent; they begin at `startSample`. */
  sent(startSample: number, length: number): void {
    if (this.#anchors.length === 0 || startSample !== this.#next) {
      this.#anchors.push({ sentSample: this.#sent, sessionSample: startSample });
      if (this.#anchors.length > MAX_ANCHORS) this.#anchors.shift();
    }
    this.#sent += length;
    this.#next = startSample + length;
  }

  /** Our padding was sent, which has no position in the session. */
  padded(length: number): void {
    this.#sent += length;
    this.#anchors.push({ sentSample: this.#sent, sessionSample: this.#next });
  }

  /** The session sample at a vendor's time, in milliseconds of audio sent. */
  sampleAt(sentMs: number): number {
    const sentSample = Math.round((sentMs * HEARING_RATE_HZ) / 1000);
    const anchor = this.#anchors.findLast((one) => one.sentSample <= sentSample) ?? this.#anchors[0];
    return anchor === undefined ? sentSample : Math.max(0, anchor.sessionSample + sentSample - anchor.sentSample);
  }

  /** The end of the audio sent, on the session's count. */
  get endSample(): number {
    return this.#next;
  }
}

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
