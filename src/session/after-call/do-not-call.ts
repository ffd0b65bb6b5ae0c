/** A number that is not to be called. */
export interface DoNotCallEntry {
  /** In a form that can be compared, see `comparableNumber`. */
  number: string;
  /** Who asked: the user in a call, found by a `rule` or by the `model`, or the `operator`. */
  source: 'rule' | 'model' | 'operator';
  /** The call in which it was asked. */
  sessionId: string | null;
  /** Unix seconds. */
  createdAt: number;
}

/** Numbers that agents do not call. */
export interface DoNotCallList {
  has(number: string): boolean;
  /** An entry that is there already stays as it is. */
  add(entry: DoNotCallEntry): void;
  /** Returns whether there was one. */
  remove(number: string): boolean;
  /** In the order in which they came. */
  list(): readonly DoNotCallEntry[];
}

/** A number without what people write between its digits, in lower case; a SIP address without what comes behind it. */
export function comparableNumber(number: string): string {
  const plain = number.trim().toLowerCase();
  if (/^\+?[\d\s().\-/]+$/.test(plain)) return plain.replaceAll(/[\s().\-/]/g, '').replace(/^00/, '+');
  return plain.replace(/[;?].*$/, '');
}

/** A list that lasts as long as the process. */
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
