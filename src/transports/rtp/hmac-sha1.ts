const BLOCK = 64;
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
  readonly #block = new Uint8Array(BLOCK);

  /** @param key up to 64 bytes */
  constructor(key: Uint8Array) {
    if (key.length > BLOCK) throw new RangeError('the key is longer than a block');
    const begun = (pad: number): State => {
      const block = new Uint8Array(BLOCK).fill(pad);
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
    for (; at + BLOCK <= length; at += BLOCK) compress(state, message, at);
    const rest = length - at;
    for (let n = 0; n < rest; n++) block[n] = message[at + n]!;
    this.#finish(rest, length + BLOCK);
    write(state, block);
    state.set(this.#outer);
    this.#finish(DIGEST, DIGEST + BLOCK);
    write(state, digest);
    return digest;
  }

  /** Hashes the last block: the remaining bytes and the length. */
  #finish(rest: number, length: number): void {
    const [state, block] = [this.#state, this.#block];
    block[rest] = 0x80;
    block.fill(0, rest + 1);
    if (rest + 9 > BLOCK) {
      compress(state, block, 0);
      block.fill(0);
    }
    const bits = length * 8;
    for (let n = 0; n < 4; n++) block[BLOCK - 1 - n] = bits >>> (8 * n);
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
