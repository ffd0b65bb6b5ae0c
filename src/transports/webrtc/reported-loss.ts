/** What the encoder is ready for until the other side reports. */
export const INITIAL_LOSS = 0.1;
/** It always has to be ready for some; up to this libopus gives up no bandwidth for the copies. */
const LEAST = 0.05;
/** More copies than for this many cost more than they mend. */
const MOST = 0.3;
/** Bad news is believed by half, good news slowly: loss comes in bursts. */
const UP = 0.5;
const DOWN = 0.1;
/** Smaller changes are not worth telling. */
const STEP = 0.02;

/** The loss of packets to be ready for, by what the other side's reports say (RFC 3550, 6.4.1: fraction lost). */
export class ReportedLoss {
  #smooth = INITIAL_LOSS;
  #told = INITIAL_LOSS;

  /** Of the last report, 0..1; null before the first one. */
  last: number | null = null;

  /** @param share 0..1. Returns what to be ready for where that has changed, else null. */
  take(share: number): number | null {
    this.last = share;
    this.#smooth += (share - this.#smooth) * (share > this.#smooth ? UP : DOWN);
    const wanted = Math.min(Math.max(this.#smooth, LEAST), MOST);
    if (Math.abs(wanted - this.#told) < STEP) return null;
    this.#told = wanted;
    return wanted;
  }
}
