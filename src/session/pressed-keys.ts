interface Press {
  readonly key: string;
  readonly atMs: number;
}

/** How far apart the two signs of one press may come: what gateways take to find a tone, and a jitter buffer to wait. */
const APART_MS = 500;

/**
 * Presses of keys, which a line brings as such (RFC 4733), as tones in its sound, or both ways: gateways that turn tones
 * into events let some of the tone through, before the event, along with it or behind it. Each press counts once, when its
 * first sign comes; the second one is taken for the same press.
 */
export class PressedKeys {
  readonly #nowMs: () => number;
  /** Presses of which only one sign has come, by its kind. */
  readonly #events: Press[] = [];
  readonly #tones: Press[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Keys that came as such. @returns those of them that are new */
  asEvents(keys: string): string {
    return [...keys].filter((key) => this.#isNew(key, this.#events, this.#tones)).join('');
  }

  /** A key whose tone was heard. @returns whether it is new */
  asTone(key: string): boolean {
    return this.#isNew(key, this.#tones, this.#events);
  }

  #isNew(key: string, same: Press[], others: Press[]): boolean {
    const atMs = this.#nowMs();
    for (const presses of [same, others]) {
      while (presses[0] !== undefined && atMs - presses[0].atMs > APART_MS) presses.shift();
    }
    const pair = others.findIndex((press) => press.key === key);
    if (pair >= 0) {
      others.splice(pair, 1);
      return false;
    }
    same.push({ key, atMs });
    return true;
  }
}
