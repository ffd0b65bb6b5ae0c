import { type Cipher, createCipheriv, createDecipheriv } from 'node:crypto';
import { putUint32, uint32At } from './packet.js';

/** The stream of a key: the start of its labels (RFC 3711, 4.3.2). */
export type SrtpKind = 'rtp' | 'rtcp';

/** Protects and opens packets with a known 48-bit index. Results are valid until the next call. */
export interface SrtpCipher {
  readonly tagBytes: number;
  /** @param clear bytes at the beginning that stay unencrypted; `trailer` is authenticated, too, but not included */
  seal(packet: Uint8Array, clear: number, ssrc: number, index: number, trailer: Uint8Array | null): Buffer;
  /** The packet without its tag; null if the tag is wrong. */
  open(packet: Uint8Array, clear: number, ssrc: number, index: number, trailer: Uint8Array | null): Buffer | null;
}

const BLOCK = 16;
/** Constant part of a counter block; the block number follows. */
const COUNTED = 14;
const AUTH_KEY_BYTES = 20;
const GCM_TAG_BYTES = 16;
/** The shortest tag. */
const TURNS_BYTES = 4;
/** Number of key streams computed at once, for packets up to 60 ms; and the longest one, for the longest packet. */
const PACKETS_AHEAD = 8;
const MAX_BLOCKS_AHEAD = 32;
const MAX_BLOCKS = 256;

/** The cipher of one direction and kind. */
export function srtpCipher({ suite, key, salt }: SrtpKey, kind: SrtpKind): SrtpCipher {
  const label = kind === 'rtp' ? 0 : 3;
  const sessionKey = derived(key, salt, label, BLOCK);
  const sessionSalt = derived(key, salt, label + 2, salt.length);
  if (suite === 'AEAD_AES_128_GCM') return new GcmCipher(sessionKey, sessionSalt);
  return new CounterCipher(
    sessionKey,
    sessionSalt,
    derived(key, salt, label + 1, AUTH_KEY_BYTES),
    tagBytes(suite, kind),
    kind === 'rtp' ? PACKETS_AHEAD : 1,
  );
}

/** RTCP always has the long tag (RFC 4568, 6.2). */
function tagBytes(suite: SrtpSuite, kind: SrtpKind): number {
  return suite === 'AES_CM_128_HMAC_SHA1_32' && kind === 'rtp' ? 4 : 10;
}

/** A session key from the master key; no re-keying (RFC 3711, 4.3). */
export function derived(key: Uint8Array, salt: Uint8Array, label: number, bytes: number): Buffer {
  const block = new Uint8Array(BLOCK);
  block.set(salt);
  block[7] = block[7]! ^ label;
  return createCipheriv('aes-128-ctr', key, block).update(new Uint8Array(bytes));
}

/**
 * Key streams of AES in counter mode (RFC 3711, 4.1.1): encrypts the counter blocks, which avoids a new cipher for each
 * packet. Packets are consecutive, so several are computed at once: most of the time is the cost of a call.
 */
class KeyStream {
  readonly #aes: Cipher;
  readonly #salt: Uint8Array;
  readonly #ahead: number;
  readonly #counters: Buffer;
  /** The computed streams: their source, first index, and blocks per stream. */
  #streams: Uint8Array = new Uint8Array();
  #ssrc = -1;
  #first = 0;
  #blocks = 0;

  /** @param ahead number of packets computed at once */
  constructor(key: Buffer, salt: Buffer, ahead: number) {
    this.#aes = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
    this.#salt = salt;
    this.#ahead = ahead;
    this.#counters = Buffer.alloc(Math.max(MAX_BLOCKS, ahead * MAX_BLOCKS_AHEAD) * BLOCK);
  }

  /** The stream of a packet with at least this many blocks, valid until the next call. */
  of(ssrc: number, index: number, blocks: number): Uint8Array {
    const place = index - this.#first;
    if (ssrc === this.#ssrc && blocks <= this.#blocks && place >= 0 && place < this.#ahead) {
      const at = place * this.#blocks * BLOCK;
      return this.#streams.subarray(at, at + blocks * BLOCK);
    }
    // A late packet gets its own stream; the computed ones stay.
    const isLate = ssrc === this.#ssrc && place < 0;
    if (isLate || blocks > MAX_BLOCKS_AHEAD || this.#ahead === 1) return this.#made(ssrc, index, blocks, 1);
    [this.#ssrc, this.#first, this.#blocks] = [ssrc, index, blocks];
    this.#streams = this.#made(ssrc, index, blocks, this.#ahead);
    return this.#streams.subarray(0, blocks * BLOCK);
  }

  #made(ssrc: number, index: number, blocks: number, packets: number): Uint8Array {
    const counters = this.#counters;
    let at = 0;
    for (let packet = 0; packet < packets; packet++) {
      const counter = counterBlock(this.#salt, ssrc, index + packet);
      for (let block = 0; block < blocks; block++, at += BLOCK) {
        for (let n = 0; n < COUNTED; n++) counters[at + n] = counter[n]!;
        counters[at + COUNTED] = block >> 8;
        counters[at + COUNTED + 1] = block;
      }
    }
    return this.#aes.update(counters.subarray(0, at));
  }
}

/** AES in counter mode, and HMAC-SHA1 (RFC 3711, 4.1.1 and 4.2.1). */
class CounterCipher implements SrtpCipher {
  readonly tagBytes: number;
  readonly #hmac: HmacSha1;
  readonly #stream: KeyStream;

  constructor(key: Buffer, salt: Buffer, authKey: Buffer, tag: number, ahead: number) {
    this.tagBytes = tag;
    this.#hmac = new HmacSha1(authKey);
    this.#stream = new KeyStream(key, salt, ahead);
  }

  seal(packet: Uint8Array, clear: number, ssrc: number, index: number, trailer: Uint8Array | null): Buffer {
    const { length } = packet;
    const out = Buffer.allocUnsafe(length + this.tagBytes);
    out.set(packet);
    this.#crypt(out, clear, length, ssrc, index);
    const tag = this.#tag(out, length, trailer, index);
    for (let n = 0; n < this.tagBytes; n++) out[length + n] = tag[n]!;
    return out;
  }

  open(packet: Uint8Array, clear: number, ssrc: number, index: number, trailer: Uint8Array | null): Buffer | null {
    const end = packet.length - this.tagBytes;
    if (end < clear) return null;
    const out = Buffer.from(packet);
    const tag = this.#tag(out, end, trailer, index);
    // Constant-time comparison.
    let difference = 0;
    for (let n = 0; n < this.tagBytes; n++) difference |= tag[n]! ^ packet[end + n]!;
    if (difference !== 0) return null;
    this.#crypt(out, clear, end, ssrc, index);
    return out.subarray(0, end);
  }

  #crypt(packet: Buffer, clear: number, end: number, ssrc: number, index: number): void {
    const stream = this.#stream.of(ssrc, index, Math.ceil((end - clear) / BLOCK));
    for (let i = clear, n = 0; i < end; i++, n++) packet[i] = packet[i]! ^ stream[n]!;
  }

  /**
   * Authenticates the packet and its roll-over counter, which is not sent, or the report's index. It is placed over the
   * tag meanwhile: hashing at once takes half the time.
   */
  #tag(packet: Buffer, end: number, trailer: Uint8Array | null, index: number): Uint8Array {
    if (trailer === null) putUint32(packet, end, Math.floor(index / 65_536));
    else packet.set(trailer, end);
    return this.#hmac.of(packet, end + TURNS_BYTES);
  }
}

/** AES in Galois/counter mode (RFC 7714, 8 and 9). */
class GcmCipher implements SrtpCipher {
  readonly tagBytes = GCM_TAG_BYTES;
  readonly #key: Buffer;
  readonly #salt: Buffer;

  constructor(key: Buffer, salt: Buffer) {
    this.#key = key;
    this.#salt = salt;
  }

  seal(packet: Uint8Array, clear: number, ssrc: number, index: number, trailer: Uint8Array | null): Buffer {
    const cipher = createCipheriv('aes-128-gcm', this.#key, this.#nonce(ssrc, index));
    cipher.setAAD(authenticated(packet.subarray(0, clear), trailer));
    const body = cipher.update(packet.subarray(clear));
    cipher.final();
    return Buffer.concat([packet.subarray(0, clear), body, cipher.getAuthTag()]);
  }

  open(packet: Uint8Array, clear: number, ssrc: number, index: number, trailer: Uint8Array | null): Buffer | null {
    const end = packet.length - GCM_TAG_BYTES;
    if (end < clear) return null;
    const decipher = createDecipheriv('aes-128-gcm', this.#key, this.#nonce(ssrc, index));
    decipher.setAAD(authenticated(packet.subarray(0, clear), trailer));
    decipher.setAuthTag(packet.subarray(end));
    const body = decipher.update(packet.subarray(clear, end));
    try {
      decipher.final();
    } catch {
      return null; // wrong tag
    }
    return Buffer.concat([packet.subarray(0, clear), body]);
  }

  /** Two zero bytes, the source and the index, XORed with the salt. */
  #nonce(ssrc: number, index: number): Uint8Array {
    return counterBlock(Buffer.concat([new Uint8Array(2), this.#salt]), ssrc, index).subarray(2, 14);
  }
}

/** (salt · 2^16) ⊕ (ssrc · 2^64) ⊕ (index · 2^16): RFC 3711, 4.1.1 */
function counterBlock(salt: Uint8Array, ssrc: number, index: number): Uint8Array {
  const block = new Uint8Array(BLOCK);
  block.set(salt);
  putUint32(block, 4, uint32At(block, 4) ^ ssrc);
  putUint32(block, 8, uint32At(block, 8) ^ Math.floor(index / 65_536));
  block[12] = block[12]! ^ ((index >> 8) & 0xff);
  block[13] = block[13]! ^ (index & 0xff);
  return block;
}

function authenticated(clear: Uint8Array, trailer: Uint8Array | null): Uint8Array {
  return trailer === null ? clear : Buffer.concat([clear, trailer]);
}

/** Supported suites (RFC 4568, 6.2; RFC 7714, 14.2), in the order of parley's offers. */
export const SRTP_SUITES = ['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32', 'AEAD_AES_128_GCM'] as const;
export type SrtpSuite = (typeof SRTP_SUITES)[number];

/** A master key and salt. */
export interface SrtpKey {
  suite: SrtpSuite;
  /** 16 bytes. */
  key: Uint8Array;
  /** 14 bytes; 12 with AEAD. */
  salt: Uint8Array;
}

const HASH_BLOCK = 64;
const DIGEST = 20;
const ROUNDS = 80;

/** The state of the hash: five words. */
type State = Int32Array;
const START = Int32Array.of(0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476, 0xc3d2e1f0 | 0);
const WORDS = new Int32Array(ROUNDS);

/** Hashes a block into the state (FIPS 180-4, 6.1.2). */
function compress(state: State, bytes: Uint8Array, at: number): void {
  const w = WORDS;
  for (let t = 0; t < 16; t++, at += 4) {
    w[t] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
  }
  for (let t = 16; t < ROUNDS; t++) {
    const x = w[t - 3]! ^ w[t - 8]! ^ w[t - 14]! ^ w[t - 16]!;
    w[t] = (x << 1) | (x >>> 31);
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  for (let t = 0; t < 20; t++) {
    const next = (((a << 5) | (a >>> 27)) + (d ^ (b & (c ^ d))) + e + w[t]! + 0x5a827999) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  for (let t = 20; t < 40; t++) {
    const next = (((a << 5) | (a >>> 27)) + (b ^ c ^ d) + e + w[t]! + 0x6ed9eba1) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  for (let t = 40; t < 60; t++) {
    const next = (((a << 5) | (a >>> 27)) + ((b & c) | (d & (b | c))) + e + w[t]! + 0x8f1bbcdc) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  for (let t = 60; t < ROUNDS; t++) {
    const next = (((a << 5) | (a >>> 27)) + (b ^ c ^ d) + e + w[t]! + 0xca62c1d6) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  state[0] = (state[0]! + a) | 0;
  state[1] = (state[1]! + b) | 0;
  state[2] = (state[2]! + c) | 0;
  state[3] = (state[3]! + d) | 0;
  state[4] = (state[4]! + e) | 0;
}

/**
 * HMAC-SHA1 (RFC 2104) with one key for many short messages. What depends only on the key is computed once, and nothing
 * is allocated: a packet of 180 bytes takes a third of the time of `createHmac`.
 */
export class HmacSha1 {
  /** Result for the last message. */
  readonly digest = new Uint8Array(DIGEST);
  readonly #inner: State;
  readonly #outer: State;
  readonly #state: State = new Int32Array(5);
  readonly #block = new Uint8Array(HASH_BLOCK);

  /** @param key up to 64 bytes */
  constructor(key: Uint8Array) {
    if (key.length > HASH_BLOCK) throw new RangeError('the key is longer than a block');
    const begun = (pad: number): State => {
      const block = new Uint8Array(HASH_BLOCK).fill(pad);
      for (const [n, byte] of key.entries()) block[n] = byte ^ pad;
      const state = START.slice();
      compress(state, block, 0);
      return state;
    };
    this.#inner = begun(0x36);
    this.#outer = begun(0x5c);
  }

  /** Computes the HMAC of the first `length` bytes. @returns `digest` */
  of(message: Uint8Array, length = message.length): Uint8Array {
    const [state, block, digest] = [this.#state, this.#block, this.digest];
    state.set(this.#inner);
    let at = 0;
    for (; at + HASH_BLOCK <= length; at += HASH_BLOCK) compress(state, message, at);
    const rest = length - at;
    for (let n = 0; n < rest; n++) block[n] = message[at + n]!;
    this.#finish(rest, length + HASH_BLOCK);
    write(state, block);
    state.set(this.#outer);
    this.#finish(DIGEST, DIGEST + HASH_BLOCK);
    write(state, digest);
    return digest;
  }

  /** Hashes the last block: the remaining bytes and the length. */
  #finish(rest: number, length: number): void {
    const [state, block] = [this.#state, this.#block];
    block[rest] = 0x80;
    block.fill(0, rest + 1);
    if (rest + 9 > HASH_BLOCK) {
      compress(state, block, 0);
      block.fill(0);
    }
    const bits = length * 8;
    for (let n = 0; n < 4; n++) block[HASH_BLOCK - 1 - n] = bits >>> (8 * n);
    compress(state, block, 0);
  }
}

function write(state: State, out: Uint8Array): void {
  for (let n = 0; n < 5; n++) {
    const word = state[n]!;
    out[4 * n] = word >>> 24;
    out[4 * n + 1] = word >>> 16;
    out[4 * n + 2] = word >>> 8;
    out[4 * n + 3] = word;
  }
}
