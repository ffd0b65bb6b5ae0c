import { putUint32, uint32At, type RtpPacket } from './packet.js';
import { randomBytes } from 'node:crypto';
import type { Random } from '../../base/random.js';

/** One packet of an RTCP compound, as far as calls need it (RFC 3550, 6). */
export type RtcpPacket =
  | { kind: 'sender-report'; ssrc: number; sender: SenderInfo; blocks: readonly ReportBlock[] }
  | { kind: 'receiver-report'; ssrc: number; blocks: readonly ReportBlock[] }
  | { kind: 'names'; chunks: readonly { ssrc: number; cname: string | null }[] }
  | { kind: 'bye'; ssrcs: readonly number[] };

export interface SenderInfo {
  /** NTP time of sending, in seconds and 1/2^32 s, and the media time. */
  ntpSeconds: number;
  ntpFraction: number;
  timestamp: number;
  packets: number;
  octets: number;
}

const SENDER_REPORT = 200;
const RECEIVER_REPORT = 201;
const NAMES = 202;
const BYE = 203;
const HEADER_BYTES = 4;
const BLOCK_BYTES = 24;
const SENDER_BYTES = 20;
const CNAME = 1;
const MAX_PACKETS = 32;
/** 24 bits, signed. */
const MAX_LOST = 0x7f_ffff;

/** Parses an RTCP datagram; null if it is not one. Skips unneeded types and a truncated end. */
export function parseRtcp(datagram: Uint8Array): RtcpPacket[] | null {
  const packets: RtcpPacket[] = [];
  let at = 0;
  for (let count = 0; at + HEADER_BYTES <= datagram.length && count < MAX_PACKETS; count++) {
    const first = datagram[at]!;
    const end = at + HEADER_BYTES + ((datagram[at + 2]! << 8) | datagram[at + 3]!) * 4;
    if (first >> 6 !== 2 || end > datagram.length) break;
    const packet = read(datagram[at + 1]!, first & 0x1f, datagram.subarray(at + HEADER_BYTES, end));
    if (packet !== null) packets.push(packet);
    at = end;
  }
  return at === 0 ? null : packets;
}

function read(type: number, count: number, body: Uint8Array): RtcpPacket | null {
  if (type === BYE) {
    if (body.length < count * 4) return null;
    return { kind: 'bye', ssrcs: Array.from({ length: count }, (_, n) => uint32At(body, n * 4)) };
  }
  if (type === NAMES) return { kind: 'names', chunks: chunksOf(body, count) };
  if (body.length < 4) return null;
  const ssrc = uint32At(body, 0);
  if (type === RECEIVER_REPORT) return { kind: 'receiver-report', ssrc, blocks: blocksOf(body.subarray(4), count) };
  if (type !== SENDER_REPORT || body.length < 4 + SENDER_BYTES) return null;
  const sender: SenderInfo = {
    ntpSeconds: uint32At(body, 4),
    ntpFraction: uint32At(body, 8),
    timestamp: uint32At(body, 12),
    packets: uint32At(body, 16),
    octets: uint32At(body, 20),
  };
  return { kind: 'sender-report', ssrc, sender, blocks: blocksOf(body.subarray(4 + SENDER_BYTES), count) };
}

function blocksOf(bytes: Uint8Array, count: number): ReportBlock[] {
  const blocks: ReportBlock[] = [];
  for (let n = 0, at = 0; n < count && at + BLOCK_BYTES <= bytes.length; n++, at += BLOCK_BYTES) {
    blocks.push({
      ssrc: uint32At(bytes, at),
      fractionLost: bytes[at + 4]! / 256,
      totalLost: (uint32At(bytes, at + 4) << 8) >> 8,
      highestSequence: uint32At(bytes, at + 8),
      jitterTicks: uint32At(bytes, at + 12),
      lastReport: uint32At(bytes, at + 16),
      sinceLastReport: uint32At(bytes, at + 20),
    });
  }
  return blocks;
}

function chunksOf(bytes: Uint8Array, count: number): { ssrc: number; cname: string | null }[] {
  const chunks: { ssrc: number; cname: string | null }[] = [];
  for (let n = 0, at = 0; n < count && at + 4 <= bytes.length; n++) {
    const ssrc = uint32At(bytes, at);
    let cname: string | null = null;
    at += 4;
    while (at < bytes.length && bytes[at] !== 0) {
      const text = bytes.subarray(at + 2, at + 2 + (bytes[at + 1] ?? 0));
      if (bytes[at] === CNAME) cname = new TextDecoder().decode(text);
      at += 2 + (bytes[at + 1] ?? 0);
    }
    // A chunk ends with at least one zero byte, at a multiple of four.
    at = (at + 4) & ~3;
    chunks.push({ ssrc, cname });
  }
  return chunks;
}

/** Serialises a compound; the first packet must be a report (RFC 3550, 6.1). */
export function serialiseRtcp(packets: readonly RtcpPacket[]): Uint8Array {
  return Buffer.concat(packets.map((packet) => serialise(packet)));
}

function serialise(packet: RtcpPacket): Uint8Array {
  switch (packet.kind) {
    case 'sender-report': {
      const { ntpSeconds, ntpFraction, timestamp, packets, octets } = packet.sender;
      const words = [packet.ssrc, ntpSeconds, ntpFraction, timestamp, packets, octets, ...blockWords(packet.blocks)];
      return framed(SENDER_REPORT, packet.blocks.length, words);
    }
    case 'receiver-report':
      return framed(RECEIVER_REPORT, packet.blocks.length, [packet.ssrc, ...blockWords(packet.blocks)]);
    case 'names':
      return framed(NAMES, packet.chunks.length, packet.chunks.flatMap(nameWords));
    case 'bye':
      return framed(BYE, packet.ssrcs.length, packet.ssrcs);
  }
}

function framed(type: number, count: number, words: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + words.length * 4);
  bytes.set([0x80 | count, type, words.length >> 8, words.length]);
  for (const [n, word] of words.entries()) putUint32(bytes, HEADER_BYTES + n * 4, word);
  return bytes;
}

function blockWords(blocks: readonly ReportBlock[]): number[] {
  return blocks.flatMap((block) => {
    const fraction = Math.min(255, Math.floor(block.fractionLost * 256));
    const lost = Math.max(-MAX_LOST - 1, Math.min(MAX_LOST, block.totalLost)) & 0xff_ffff;
    return [
      block.ssrc,
      (fraction << 24) | lost,
      block.highestSequence,
      block.jitterTicks,
      block.lastReport,
      block.sinceLastReport,
    ];
  });
}

function nameWords({ ssrc, cname }: { ssrc: number; cname: string | null }): number[] {
  const text = new TextEncoder().encode(cname ?? '').subarray(0, 255);
  const bytes = new Uint8Array((2 + text.length + 4) & ~3);
  bytes.set([CNAME, text.length, ...text]);
  return [ssrc, ...Array.from({ length: bytes.length / 4 }, (_, n) => uint32At(bytes, n * 4))];
}

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
