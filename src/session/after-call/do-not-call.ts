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
  has(number: string): Promise<boolean>;
  /** An existing entry stays unchanged. */
  add(entry: DoNotCallEntry): Promise<void>;
  /** Returns whether there was an entry. */
  remove(number: string): Promise<boolean>;
  /** In order of creation. */
  list(): Promise<readonly DoNotCallEntry[]>;
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

  async has(number: string): Promise<boolean> {
    return this.#entries.has(comparableNumber(number));
  }

  async add(entry: DoNotCallEntry): Promise<void> {
    const number = comparableNumber(entry.number);
    if (!this.#entries.has(number)) this.#entries.set(number, { ...entry, number });
  }

  async remove(number: string): Promise<boolean> {
    return this.#entries.delete(comparableNumber(number));
  }

  async list(): Promise<readonly DoNotCallEntry[]> {
    return [...this.#entries.values()];
  }
}
