/** An RTP packet (RFC 3550, 5.1). Views of the datagram, not copies. */
export interface RtpPacket {
  /** 7 bits; 64-95 are RTCP on a shared port (RFC 5761, 4). */
  payloadType: number;
  marker: boolean;
  /** 16 bits. */
  sequence: number;
  /** 32 bits, in ticks of the payload type's clock rate. */
  timestamp: number;
  /** 32 bits: the source. */
  ssrc: number;
  payload: Uint8Array;
}

const VERSION = 2;
export const RTP_HEADER_BYTES = 12;
/** Larger than any useful datagram: 120 ms of audio and a header. */
export const LONGEST_DATAGRAM_BYTES = 4_096;

/** Parses a datagram; null if it is not RTP. Skips contributing sources, extensions and padding. */
export function parseRtp(datagram: Uint8Array): RtpPacket | null {
  const start = rtpHeaderBytes(datagram);
  if (start === null) return null;
  let end = datagram.length;
  if ((datagram[0]! & 0x20) !== 0) {
    const padding = datagram[end - 1]!;
    if (padding === 0 || padding > end - start) return null;
    end -= padding;
  }
  return {
    payloadType: datagram[1]! & 0x7f,
    marker: (datagram[1]! & 0x80) !== 0,
    sequence: (datagram[2]! << 8) | datagram[3]!,
    timestamp: uint32At(datagram, 4),
    ssrc: uint32At(datagram, 8),
    payload: datagram.subarray(start, end),
  };
}

/** Length of the header with sources and extension; null if it is not RTP. */
export function rtpHeaderBytes(datagram: Uint8Array): number | null {
  const { length } = datagram;
  if (length < RTP_HEADER_BYTES || length > LONGEST_DATAGRAM_BYTES || datagram[0]! >> 6 !== VERSION) return null;
  let at = RTP_HEADER_BYTES + (datagram[0]! & 0x0f) * 4;
  if ((datagram[0]! & 0x10) !== 0) {
    if (at + 4 > length) return null;
    at += 4 + ((datagram[at + 2]! << 8) | datagram[at + 3]!) * 4;
  }
  return at <= length ? at : null;
}

/**
 * Serialises a packet without sources, extension and padding.
 * @param datagram the target, of exactly its length. Default: a new one from Node's pool, because separate arrays take
 * ten times as long to create
 */
export function serialiseRtp(
  packet: RtpPacket,
  datagram: Uint8Array = Buffer.allocUnsafe(RTP_HEADER_BYTES + packet.payload.length),
): Uint8Array {
  const { payload, timestamp, ssrc, sequence } = packet;
  datagram[0] = VERSION << 6;
  datagram[1] = (packet.marker ? 0x80 : 0) | (packet.payloadType & 0x7f);
  datagram[2] = sequence >> 8;
  datagram[3] = sequence;
  putUint32(datagram, 4, timestamp);
  putUint32(datagram, 8, ssrc);
  datagram.set(payload, RTP_HEADER_BYTES);
  return datagram;
}

/**
 * Whether a datagram on a shared port is RTCP: types 192 to 223 at the place of RTP's marker and type (RFC 5761, 4).
 */
export function isRtcp(datagram: Uint8Array): boolean {
  const type = datagram[1] ?? 0;
  return type >= 192 && type <= 223;
}

/** Big-endian. */
export function uint32At(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

export function putUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
