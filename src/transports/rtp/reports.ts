import { randomBytes, randomInt } from 'node:crypto';
import type { RtpPacket } from './packet.js';
import { Reception, type ReportBlock } from './reception.js';
import { parseRtcp, type RtcpPacket, serialiseRtcp } from './rtcp.js';

/** What is reported of our sending. */
export interface SentSoFar {
  ssrc: number;
  packets: number;
  octets: number;
  /** What the media clock says now. */
  timestamp: number;
}

/** What reports contained. */
export interface ReportStats {
  /** Share of our packets, 0..1, that the other side missed by its last report; null before the first one. */
  reportedLoss: number | null;
  /** Jitter of our packets at the other side, by its last report. */
  reportedJitterMs: number | null;
  /** From us to the other side and back; null before the first report. */
  roundTripMs: number | null;
}

/** Between two reports (RFC 3550, 6.2), give or take half of it: calls that begin together do not report together. */
const INTERVAL_MS = 5_000;

/**
 * A call's RTCP: when reports go out, what they say, and what the other side's say. The time in them is this process's
 * own, which RFC 3550, 6.4.1 allows.
 */
export class Reports {
  /** Tells of the same end in all its streams; nobody's name. */
  readonly #cname = randomBytes(12).toString('base64url');
  #reception: Reception | null = null;
  #nextMs: number;
  #packetsBefore = 0;
  /** The other side's last report: its time, and when it came. */
  #lastReport: { middle: number; atMs: number } | null = null;
  #stats: ReportStats = { reportedLoss: null, reportedJitterMs: null, roundTripMs: null };
  #clockRateHz = 8_000;
  #hasLeft = false;

  constructor(nowMs: number) {
    this.#nextMs = nextAfter(nowMs);
  }

  get stats(): ReportStats {
    return this.#stats;
  }

  /** Whether the source that is heard has said goodbye, and nothing has come since. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** A packet of the other side's. @param clockRateHz of its type; null = keys, which tell nothing of jitter */
  take(packet: RtpPacket, clockRateHz: number | null, nowMs: number): void {
    this.#hasLeft = false;
    if (this.#reception?.ssrc !== packet.ssrc) this.#reception = new Reception(packet);
    if (clockRateHz !== null) this.#clockRateHz = clockRateHz;
    this.#reception.take(packet, clockRateHz, nowMs);
  }

  /** When the next report is to go out. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** The report that is due. */
  next(sent: SentSoFar, nowMs: number): Uint8Array {
    this.#nextMs = nextAfter(nowMs);
    return serialiseRtcp(this.#compound(sent, nowMs));
  }

  /** The last report, which says goodbye. */
  goodbye(sent: SentSoFar, nowMs: number): Uint8Array {
    return serialiseRtcp([...this.#compound(sent, nowMs), { kind: 'bye', ssrcs: [sent.ssrc] }]);
  }

  /** A datagram of the other side's; false where it is no RTCP. */
  read(datagram: Uint8Array, ourSsrc: number, nowMs: number): boolean {
    const packets = parseRtcp(datagram);
    for (const packet of packets ?? []) {
      if (packet.kind === 'bye') this.#hasLeft ||= packet.ssrcs.includes(this.#reception?.ssrc ?? -1);
      if (packet.kind === 'sender-report') this.#onSenderReport(packet, nowMs);
      if (packet.kind === 'sender-report' || packet.kind === 'receiver-report') {
        for (const block of packet.blocks) if (block.ssrc === ourSsrc) this.#onBlock(block, nowMs);
      }
    }
    return packets !== null;
  }

  #compound({ ssrc, packets, octets, timestamp }: SentSoFar, nowMs: number): RtcpPacket[] {
    const report = this.#reception?.report();
    const since = this.#lastReport === null ? 0 : Math.round(((nowMs - this.#lastReport.atMs) * 65_536) / 1_000);
    const blocks =
      report === undefined
        ? []
        : [{ ...report, lastReport: this.#lastReport?.middle ?? 0, sinceLastReport: Math.min(since, 2 ** 32 - 1) }];
    const isSending = packets > this.#packetsBefore;
    this.#packetsBefore = packets;
    const [ntpSeconds, ntpFraction] = [Math.floor(nowMs / 1_000), Math.floor(((nowMs % 1_000) / 1_000) * 2 ** 32)];
    const sender = { ntpSeconds, ntpFraction, timestamp, packets: packets % 2 ** 32, octets: octets % 2 ** 32 };
    return [
      isSending ? { kind: 'sender-report', ssrc, sender, blocks } : { kind: 'receiver-report', ssrc, blocks },
      { kind: 'names', chunks: [{ ssrc, cname: this.#cname }] },
    ];
  }

  #onSenderReport(
    { ssrc, sender }: { ssrc: number; sender: { ntpSeconds: number; ntpFraction: number } },
    nowMs: number,
  ) {
    if (ssrc !== this.#reception?.ssrc) return;
    this.#lastReport = { middle: ((sender.ntpSeconds << 16) | (sender.ntpFraction >>> 16)) >>> 0, atMs: nowMs };
  }

  #onBlock({ fractionLost, jitterTicks, lastReport, sinceLastReport }: ReportBlock, nowMs: number): void {
    let { roundTripMs } = this.#stats;
    if (lastReport !== 0) {
      const now = Math.floor((nowMs * 65_536) / 1_000) >>> 0;
      const passed = (now - lastReport - sinceLastReport) >>> 0;
      // More than a minute, or less than nought, is a mistake of the other side's.
      if (passed < 60 * 65_536) roundTripMs = (passed * 1_000) / 65_536;
    }
    this.#stats = {
      reportedLoss: fractionLost,
      roundTripMs,
      reportedJitterMs: (jitterTicks * 1_000) / this.#clockRateHz,
    };
  }
}

function nextAfter(nowMs: number): number {
  return nowMs + INTERVAL_MS / 2 + randomInt(INTERVAL_MS);
}

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
