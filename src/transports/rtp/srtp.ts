import { randomBytes } from 'node:crypto';
import { isRtcp, putUint32, rtpHeaderBytes, uint32At } from './packet.js';
import { srtpCipher, type SrtpCipher, SRTP_SUITES, type SrtpKey, type SrtpSuite } from './srtp-cipher.js';
import type { CryptoLine } from './sdp.js';

const KEY_BYTES = 16;
const SALT_BYTES: Readonly<Record<SrtpSuite, number>> = {
  AES_CM_128_HMAC_SHA1_80: 14,
  AES_CM_128_HMAC_SHA1_32: 14,
  AEAD_AES_128_GCM: 12,
};

export function newSrtpKey(suite: SrtpSuite): SrtpKey {
  return { suite, key: randomBytes(KEY_BYTES), salt: randomBytes(SALT_BYTES[suite]) };
}

/** The key of an SDP line; null for unsupported suites, lengths and parameters. */
export function keyOfLine({ suite, inline, isExtended }: CryptoLine): SrtpKey | null {
  const known = SRTP_SUITES.find((each) => each === suite);
  const bytes = Buffer.from(inline, 'base64');
  if (known === undefined || isExtended || bytes.length !== KEY_BYTES + SALT_BYTES[known]) return null;
  return { suite: known, key: bytes.subarray(0, KEY_BYTES), salt: bytes.subarray(KEY_BYTES) };
}

export function lineOfKey({ suite, key, salt }: SrtpKey, tag: number): CryptoLine {
  return { tag, suite, inline: Buffer.concat([key, salt]).toString('base64'), isExtended: false };
}

export function isSameKey(one: SrtpKey, other: SrtpKey): boolean {
  return (
    one.suite === other.suite && Buffer.compare(one.key, other.key) === 0 && Buffer.compare(one.salt, other.salt) === 0
  );
}

const RTCP_CLEAR_BYTES = 8;
const INDEX_BYTES = 4;
/** The first bit: the report is encrypted. */
const ENCRYPTED = 0x8000_0000;
/** Older packets are refused (RFC 3711, 3.3.2, requires at least 64). */
const REPLAY_WINDOW = 128;
/** Number of sources to remember per stream: one, and a few after re-routing. */
const MAX_SOURCES = 4;

/** Protects sent packets (RFC 3711). */
export class SrtpSender {
  readonly #rtp: SrtpCipher;
  readonly #rtcp: SrtpCipher;
  readonly #isAead: boolean;
  #turns = 0;
  #last: number | null = null;
  #reports = 0;

  constructor(key: SrtpKey) {
    this.#rtp = srtpCipher(key, 'rtp');
    this.#rtcp = srtpCipher(key, 'rtcp');
    this.#isAead = key.suite === 'AEAD_AES_128_GCM';
  }

  /** @param packet RTP, in the order of sequence numbers */
  protect(packet: Uint8Array): Uint8Array {
    const sequence = (packet[2]! << 8) | packet[3]!;
    if (this.#last !== null && sequence < this.#last) this.#turns++;
    this.#last = sequence;
    const clear = rtpHeaderBytes(packet) ?? packet.length;
    return this.#rtp.seal(packet, clear, uint32At(packet, 8), this.#turns * 65_536 + sequence, null);
  }

  /** @param packet RTCP, compound or not */
  protectRtcp(packet: Uint8Array): Uint8Array {
    const index = this.#reports++;
    const number = new Uint8Array(INDEX_BYTES);
    putUint32(number, 0, (index | ENCRYPTED) >>> 0);
    const sealed = this.#rtcp.seal(packet, RTCP_CLEAR_BYTES, uint32At(packet, 4), index, number);
    if (this.#isAead) return Buffer.concat([sealed, number]);
    const end = sealed.length - this.#rtcp.tagBytes;
    return Buffer.concat([sealed.subarray(0, end), number, sealed.subarray(end)]);
  }
}

/** Opens received packets. Forged, repeated and old ones give null. */
export class SrtpReceiver {
  readonly #rtp: SrtpCipher;
  readonly #rtcp: SrtpCipher;
  readonly #isAead: boolean;
  readonly #sources = new Map<number, Source>();
  readonly #reporters = new Map<number, Source>();

  constructor(key: SrtpKey) {
    this.#rtp = srtpCipher(key, 'rtp');
    this.#rtcp = srtpCipher(key, 'rtcp');
    this.#isAead = key.suite === 'AEAD_AES_128_GCM';
  }

  /** @param packet RTP or RTCP as received */
  open(packet: Uint8Array): Uint8Array | null {
    return isRtcp(packet) ? this.#openRtcp(packet) : this.#openRtp(packet);
  }

  #openRtp(packet: Uint8Array): Uint8Array | null {
    const clear = rtpHeaderBytes(packet);
    if (clear === null) return null;
    const ssrc = uint32At(packet, 8);
    const sequence = (packet[2]! << 8) | packet[3]!;
    const source = this.#sources.get(ssrc);
    const index = source?.indexOf(sequence) ?? sequence;
    if (source?.isRepeated(index) === true) return null;
    const opened = this.#rtp.open(packet, clear, ssrc, index, null);
    if (opened !== null) remember(this.#sources, ssrc, index);
    return opened;
  }

  #openRtcp(packet: Uint8Array): Uint8Array | null {
    const behind = this.#isAead ? 0 : this.#rtcp.tagBytes;
    const at = packet.length - behind - INDEX_BYTES;
    if (at < RTCP_CLEAR_BYTES) return null;
    const number = packet.subarray(at, at + INDEX_BYTES);
    const word = uint32At(number, 0);
    const ssrc = uint32At(packet, 4);
    const index = (word & 0x7fff_ffff) >>> 0;
    // Unencrypted reports are never negotiated.
    if (word < ENCRYPTED || this.#reporters.get(ssrc)?.isRepeated(index) === true) return null;
    const rest = Buffer.concat([packet.subarray(0, at), packet.subarray(at + INDEX_BYTES)]);
    const opened = this.#rtcp.open(rest, RTCP_CLEAR_BYTES, ssrc, index, number);
    if (opened !== null) remember(this.#reporters, ssrc, index);
    return opened;
  }
}

/** The received packets of a source. */
class Source {
  #newest: number;
  /** The received indices, by their place in the window. */
  readonly #seen = new Float64Array(REPLAY_WINDOW).fill(-1);

  constructor(first: number) {
    this.#newest = first;
    this.see(first);
  }

  /** The 48-bit index closest to the newest one (RFC 3711, appendix A). */
  indexOf(sequence: number): number {
    const turn = this.#newest - (this.#newest % 65_536);
    const index = turn + sequence;
    if (index - this.#newest > 32_768 && turn > 0) return index - 65_536;
    return this.#newest - index > 32_768 ? index + 65_536 : index;
  }

  isRepeated(index: number): boolean {
    return index <= this.#newest - REPLAY_WINDOW || this.#seen[index % REPLAY_WINDOW] === index;
  }

  see(index: number): void {
    this.#seen[index % REPLAY_WINDOW] = index;
    if (index > this.#newest) this.#newest = index;
  }
}

/** Only sources with authentic packets are remembered. */
function remember(sources: Map<number, Source>, ssrc: number, index: number): void {
  const source = sources.get(ssrc);
  if (source !== undefined) {
    source.see(index);
    return;
  }
  sources.set(ssrc, new Source(index));
  for (const old of sources.keys()) {
    if (sources.size <= MAX_SOURCES) return;
    sources.delete(old);
  }
}
