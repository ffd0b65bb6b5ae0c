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
