import { randomBytes } from 'node:crypto';
import type { Random } from '../../base/random.js';
import type { RtpPacket } from './packet.js';
import { Reception, type ReportBlock } from './reception.js';
import { parseRtcp, type RtcpPacket, serialiseRtcp } from './rtcp.js';

/** What the sender reports contain. */
export interface SentSoFar {
  ssrc: number;
  packets: number;
  octets: number;
  /** The current media time. */
  timestamp: number;
}

/** Values from the reports. */
export interface ReportStats {
  /** Share of parley's packets, 0 to 1, lost according to the other side's last report; null before the first one. */
  reportedLoss: number | null;
  /** Jitter of parley's packets according to the other side's last report. */
  reportedJitterMs: number | null;
  /** Null before the first report. */
  roundTripMs: number | null;
}

/**
 * Interval of reports (RFC 3550, 6.2), randomised by half, so that calls that start together do not report together.
 */
const INTERVAL_MS = 5_000;

/**
 * A call's RTCP: schedules and builds reports, and reads the other side's. Times in them are the process's own, which
 * RFC 3550, 6.4.1 allows.
 */
export class Reports {
  /** Identifies the endpoint in all its streams; not a person's name. */
  readonly #cname = randomBytes(12).toString('base64url');
  readonly #random: Pick<Random, 'int'>;
  #reception: Reception | null = null;
  #nextMs: number;
  #packetsBefore = 0;
  /** The other side's last report: its time, and its arrival. */
  #lastReport: { middle: number; atMs: number } | null = null;
  #stats: ReportStats = { reportedLoss: null, reportedJitterMs: null, roundTripMs: null };
  #clockRateHz = 8_000;
  #hasLeft = false;

  /** @param random spreads the reports */
  constructor(nowMs: number, random: Pick<Random, 'int'>) {
    this.#random = random;
    this.#nextMs = this.#after(nowMs);
  }

  get stats(): ReportStats {
    return this.#stats;
  }

  /** Whether the current source has sent BYE, and nothing since. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Counts a packet of the other side. @param clockRateHz of its type; null = keys, without jitter */
  take(packet: RtpPacket, clockRateHz: number | null, nowMs: number): void {
    this.#hasLeft = false;
    if (this.#reception?.ssrc !== packet.ssrc) this.#reception = new Reception(packet);
    if (clockRateHz !== null) this.#clockRateHz = clockRateHz;
    this.#reception.take(packet, clockRateHz, nowMs);
  }

  /** Time of the next report. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** The report that is due. */
  next(sent: SentSoFar, nowMs: number): Uint8Array {
    this.#nextMs = this.#after(nowMs);
    return serialiseRtcp(this.#compound(sent, nowMs));
  }

  /** The last report, with BYE. */
  goodbye(sent: SentSoFar, nowMs: number): Uint8Array {
    return serialiseRtcp([...this.#compound(sent, nowMs), { kind: 'bye', ssrcs: [sent.ssrc] }]);
  }

  /** Reads a datagram of the other side; false if it is not RTCP. */
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

  #after(nowMs: number): number {
    return nowMs + INTERVAL_MS / 2 + this.#random.int(0, INTERVAL_MS);
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
      // More than a minute, or less than zero, is an error of the other side.
      if (passed < 60 * 65_536) roundTripMs = (passed * 1_000) / 65_536;
    }
    this.#stats = {
      reportedLoss: fractionLost,
      roundTripMs,
      reportedJitterMs: (jitterTicks * 1_000) / this.#clockRateHz,
    };
  }
}

/** Expected loss until the other side reports. */
export const INITIAL_LOSS = 0.1;
/** Minimum; up to this libopus spends no bandwidth on copies. */
const LEAST = 0.05;
/** Maximum; more copies cost more than they repair. */
const MOST = 0.3;
/** Higher loss is adopted by half at once, lower loss slowly: loss comes in bursts. */
const UP = 0.5;
const DOWN = 0.1;
/** Smaller changes are ignored. */
const STEP = 0.02;

/** The packet loss to expect, from the other side's reports (RFC 3550, 6.4.1: fraction lost). */
export class ReportedLoss {
  #smooth = INITIAL_LOSS;
  #reported = INITIAL_LOSS;

  /** Of the last report, 0 to 1; null before the first one. */
  last: number | null = null;

  /** @param share 0 to 1. Returns the loss to expect if it has changed, otherwise null. */
  take(share: number): number | null {
    this.last = share;
    this.#smooth += (share - this.#smooth) * (share > this.#smooth ? UP : DOWN);
    const wanted = Math.min(Math.max(this.#smooth, LEAST), MOST);
    if (Math.abs(wanted - this.#reported) < STEP) return null;
    this.#reported = wanted;
    return wanted;
  }
}
