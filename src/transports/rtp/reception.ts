import type { RtpPacket } from './packet.js';

/** What a report says of a source (RFC 3550, 6.4.1). */
export interface ReportBlock {
  /** Of whom. */
  ssrc: number;
  /** Share of packets lost since the last report, 0..1. */
  fractionLost: number;
  /** Packets lost since the beginning; less than nought where there were duplicates. */
  totalLost: number;
  /** The highest sequence number that has come, with how often they have wrapped above it. */
  highestSequence: number;
  /** Interarrival jitter in ticks of the media clock. */
  jitterTicks: number;
  /** The middle 32 bits of the last sender's report's time, 0 = none has come; and how long ago it was, in 1/65536 s. */
  lastReport: number;
  sinceLastReport: number;
}

/** Packets of another place in the stream than these are the beginning of another one. */
const MAX_DROPOUT = 3_000;
const MAX_MISORDER = 100;

/** Counts what comes of one source, for reports (RFC 3550, A.1, A.3 and A.8). */
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

  /** @param clockRateHz of the packet's type; null = its timestamp tells nothing of jitter (keys) */
  take({ sequence, timestamp }: RtpPacket, clockRateHz: number | null, nowMs: number): void {
    const step = (sequence - this.#highest) & 0xffff;
    if (step > 0 && step < MAX_DROPOUT) {
      this.#highest += step;
    } else if (step !== 0 && step < 65_536 - MAX_MISORDER) {
      // It goes on elsewhere: what came before is over.
      [this.#base, this.#highest, this.#received, this.#transit] = [sequence, sequence, 0, null];
      [this.#expectedBefore, this.#receivedBefore] = [0, 0];
    }
    this.#received++;
    if (clockRateHz === null) return;
    const transit = ((nowMs * clockRateHz) / 1_000 - timestamp) % 2 ** 32;
    if (this.#transit !== null) {
      const difference = Math.abs(transit - this.#transit);
      // Timestamps wrap; a difference of half their range is none of jitter.
      if (difference < 2 ** 31) this.#jitter += (difference - this.#jitter) / 16;
    }
    this.#transit = transit;
  }

  /** What is to be reported now; the next report counts from here. */
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
