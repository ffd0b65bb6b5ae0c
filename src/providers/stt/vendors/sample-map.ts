import { HEARING_RATE_HZ } from '../../../audio/frame.js';

/** Gaps that are remembered; times before the oldest are reckoned from it. */
const MAX_ANCHORS = 64;

/**
 * Where on the session's count of samples a vendor's time lies: a vendor counts the audio that it was sent, from its
 * first sample on, and knows nothing of what came before or was left out between.
 */
export class SampleMap {
  #anchors: { sentSample: number; sessionSample: number }[] = [];
  #sent = 0;
  #next = 0;

  /** `length` samples at 16 kHz are sent that lie at `startSample`. */
  sent(startSample: number, length: number): void {
    if (this.#anchors.length === 0 || startSample !== this.#next) {
      this.#anchors.push({ sentSample: this.#sent, sessionSample: startSample });
      if (this.#anchors.length > MAX_ANCHORS) this.#anchors.shift();
    }
    this.#sent += length;
    this.#next = startSample + length;
  }

  /** Silence of our own was sent, which lies nowhere. */
  padded(length: number): void {
    this.#sent += length;
    this.#anchors.push({ sentSample: this.#sent, sessionSample: this.#next });
  }

  /** The sample of the session at a vendor's time, in milliseconds of audio sent. */
  sampleAt(sentMs: number): number {
    const sentSample = Math.round((sentMs * HEARING_RATE_HZ) / 1000);
    const anchor = this.#anchors.findLast((one) => one.sentSample <= sentSample) ?? this.#anchors[0];
    return anchor === undefined ? sentSample : Math.max(0, anchor.sessionSample + sentSample - anchor.sentSample);
  }

  /** The end of what has been sent, on the session's count. */
  get endSample(): number {
    return this.#next;
  }
}
