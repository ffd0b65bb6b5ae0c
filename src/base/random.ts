/** A seeded random number generator (mulberry32): the same seed gives the same numbers. */
export class Random {
  #state: number;

  /** @param seed any integer; only its lowest 32 bits are used */
  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** 0 ≤ number < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    return list[this.int(0, list.length - 1)] as T;
  }

  /** One of several choices, with probabilities proportional to their weights. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return (choices.at(-1) as readonly [number, T])[1];
  }
}

/** The seed of one conversation of a run. Seeds of neighbours are unrelated. */
export function seedOf(runSeed: number, index: number): number {
  return Math.imul(runSeed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35);
}
