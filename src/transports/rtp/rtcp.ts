import { putUint32, uint32At } from './packet.js';
import type { ReportBlock } from './reception.js';

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
