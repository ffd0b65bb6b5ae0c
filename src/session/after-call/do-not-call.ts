/** A number that must not be called. */
export interface DoNotCallEntry {
  /** In comparable form, see `comparableNumber`. */
  number: string;
  /** The source of the request: the user in a call, found by a `rule` or by the `model`, or the `operator`. */
  source: 'rule' | 'model' | 'operator';
  /** The session of the request. */
  sessionId: string | null;
  /** Unix seconds. */
  createdAt: number;
}

/** Numbers that agents do not call. */
export interface DoNotCallList {
  has(number: string): boolean;
  /** An existing entry stays unchanged. */
  add(entry: DoNotCallEntry): void;
  /** Returns whether there was an entry. */
  remove(number: string): boolean;
  /** In order of creation. */
  list(): readonly DoNotCallEntry[];
}

/** A number without separators, in lower case; a SIP address without parameters. */
export function comparableNumber(number: string): string {
  const plain = number.trim().toLowerCase();
  if (/^\+?[\d\s().\-/]+$/.test(plain)) return plain.replaceAll(/[\s().\-/]/g, '').replace(/^00/, '+');
  return plain.replace(/[;?].*$/, '');
}

/** A list in memory only. */
export class MemoryDoNotCallList implements DoNotCallList {
  readonly #entries = new Map<string, DoNotCallEntry>();

  has(number: string): boolean {
    return this.#entries.has(comparableNumber(number));
  }

  add(entry: DoNotCallEntry): void {
    const number = comparableNumber(entry.number);
    if (!this.#entries.has(number)) this.#entries.set(number, { ...entry, number });
  }

  remove(number: string): boolean {
    return this.#entries.delete(comparableNumber(number));
  }

  list(): readonly DoNotCallEntry[] {
    return [...this.#entries.values()];
  }
}
