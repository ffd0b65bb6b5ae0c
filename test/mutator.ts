import { Random } from '../src/base/random.js';

/** Long runs: `npm run test:security -- datagrams` sets both. */
const WANTED = process.env['PARLEY_SECURITY_COUNT'];
export const FUZZ_SEED = Number(process.env['PARLEY_SECURITY_SEED'] ?? 42);

/** How many are tried: as many as the long run wants, else so many. */
export const fuzzRuns = (usual: number): number => (WANTED === undefined ? usual : Number(WANTED));

/** No mutation is longer than its seed by more than this. */
const ROOM = 600;
/** Where readers count wrongly. */
const EDGES = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

/**
 * What is right, with some of it changed, put in, left out, repeated, cut off or joined with something else; now and then
 * nothing of it. The same seed gives the same ones. Made for a million of them: a microsecond each.
 */
export class Mutator {
  readonly random: Random;
  readonly #seeds: readonly Uint8Array[];
  /** What stands between things, in texts. */
  readonly #tokens: readonly Uint8Array[];
  readonly #bytes: Uint8Array;
  #length = 0;

  constructor(seeds: readonly Uint8Array[], tokens: readonly string[] = [], seed = FUZZ_SEED) {
    this.random = new Random(seed);
    this.#seeds = seeds;
    this.#tokens = tokens.map((token) => Buffer.from(token, 'latin1'));
    this.#bytes = new Uint8Array(Math.max(...seeds.map(({ length }) => length)) + ROOM);
  }

  /** The next one; overwritten by the one after it. */
  next(): Uint8Array {
    const { random } = this;
    if (random.chance(0.1)) {
      this.#length = random.int(0, 300);
      for (let n = 0; n < this.#length; n++) this.#bytes[n] = random.int(0, 255);
    } else {
      const seed = random.pick(this.#seeds);
      this.#bytes.set(seed);
      this.#length = seed.length;
      for (let changes = random.int(0, 6); changes > 0; changes--) this.#change();
    }
    return this.#bytes.subarray(0, this.#length);
  }

  #change(): void {
    const { random } = this;
    const at = random.int(0, this.#length);
    const bytes = this.#bytes;
    switch (random.int(0, 7)) {
      case 0:
        bytes[at] = random.int(0, 255);
        break;
      case 1:
        bytes[at] = random.pick(EDGES);
        break;
      case 2:
        bytes[at]! ^= 1 << random.int(0, 7);
        break;
      case 3:
        this.#cut(at, random.int(1, 40));
        break;
      case 4:
        this.#put(at, this.#tokens.length > 0 ? random.pick(this.#tokens) : Uint8Array.of(random.int(0, 255)));
        break;
      case 5:
        this.#put(at, bytes.slice(at, at + random.int(1, 60)));
        break;
      case 6: {
        const other = random.pick(this.#seeds);
        const from = random.int(0, other.length);
        this.#put(at, other.subarray(from, from + random.int(1, 60)));
        break;
      }
      default:
        if (random.chance(0.3)) this.#length = at;
    }
  }

  #cut(at: number, most: number): void {
    const count = Math.min(most, this.#length - at);
    this.#bytes.copyWithin(at, at + count, this.#length);
    this.#length -= count;
  }

  #put(at: number, piece: Uint8Array): void {
    if (this.#length + piece.length > this.#bytes.length) return;
    this.#bytes.copyWithin(at + piece.length, at, this.#length);
    this.#bytes.set(piece, at);
    this.#length += piece.length;
  }
}

/**
 * Tries so many of them.
 * @throws Error naming the seed, the number and the bytes of the first one that fails
 */
export function tryAll(mutator: Mutator, runs: number, act: (bytes: Uint8Array, n: number) => void): void {
  for (let n = 0; n < runs; n++) {
    const bytes = mutator.next();
    const copy = Buffer.from(bytes);
    try {
      act(bytes, n);
    } catch (error) {
      throw new Error(`seed ${String(FUZZ_SEED)}, number ${String(n)}: ${copy.toString('base64')}`, { cause: error });
    }
  }
}
