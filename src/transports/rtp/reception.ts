import type { RtpPacket } from './packet.js';

/** A report block (RFC 3550, 6.4.1). */
export interface ReportBlock {
  /** The reported source. */
  ssrc: number;
  /** Share of packets lost since the last report, 0 to 1. */
  fractionLost: number;
  /** Packets lost since the beginning; negative with duplicates. */
  totalLost: number;
  /** The highest received sequence number, extended by its wraps. */
  highestSequence: number;
  /** Interarrival jitter in ticks of the media clock. */
  jitterTicks: number;
  /** The middle 32 bits of the last sender report's NTP time, 0 = none; and the time since then, in 1/65536 s. */
  lastReport: number;
  sinceLastReport: number;
}

/** A larger jump of sequence numbers starts a new sequence. */
const MAX_DROPOUT = 3_000;
const MAX_MISORDER = 100;

/** Counts packets of one source for reports (RFC 3550, A.1, A.3 and A.8). */
export class Reception {
  readonly ssrc: number;
  #base: number;
  #highest: number;
  #received = 0;
  #expectedBefore = 0;
  #receivedBefore = 0;
  #transit: number | null = null;
  #jitter = 0;

  constructor(first: RtpPacket) {
    this.ssrc = first.ssrc;
    this.#base = first.sequence;
    this.#highest = first.sequence;
  }

  get jitterTicks(): number {
    return this.#jitter;
  }

  get lost(): number {
    return this.#expected() - this.#received;
  }

  /** @param clockRateHz of the packet's type; null = no jitter (keys) */
  take({ sequence, timestamp }: RtpPacket, clockRateHz: number | null, nowMs: number): void {
    const step = (sequence - this.#highest) & 0xffff;
    if (step > 0 && step < MAX_DROPOUT) {
      this.#highest += step;
    } else if (step !== 0 && step < 65_536 - MAX_MISORDER) {
      // The sequence restarts: earlier counts are dropped.
      [this.#base, this.#highest, this.#received, this.#transit] = [sequence, sequence, 0, null];
      [this.#expectedBefore, this.#receivedBefore] = [0, 0];
    }
    this.#received++;
    if (clockRateHz === null) return;
    const transit = ((nowMs * clockRateHz) / 1_000 - timestamp) % 2 ** 32;
    if (this.#transit !== null) {
      const difference = Math.abs(transit - this.#transit);
      // Timestamps wrap; a difference of half their range is not jitter.
      if (difference < 2 ** 31) this.#jitter += (difference - this.#jitter) / 16;
    }
    this.#transit = transit;
  }

  /** The current report block; the next one counts from here. */
  report(): Omit<ReportBlock, 'lastReport' | 'sinceLastReport'> {
    const expected = this.#expected();
    const expectedSince = expected - this.#expectedBefore;
    const lostSince = expectedSince - (this.#received - this.#receivedBefore);
    this.#expectedBefore = expected;
    this.#receivedBefore = this.#received;
    return {
      ssrc: this.ssrc,
      fractionLost: expectedSince > 0 ? Math.max(0, lostSince / expectedSince) : 0,
      totalLost: expected - this.#received,
      highestSequence: this.#highest >>> 0,
      jitterTicks: Math.round(this.#jitter),
    };
  }

  #expected(): number {
    return this.#highest - this.#base + 1;
  }
}
