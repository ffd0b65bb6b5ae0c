interface Reader<T> {
  resolve: (result: IteratorResult<T, undefined>) => void;
  reject: (error: unknown) => void;
}

/**
 * A queue from a pushing producer to one pulling consumer. `close` and `fail` end it after the items pushed so far; the
 * first of them counts.
 */
export class Mailbox<T> implements AsyncIterableIterator<T> {
  readonly #items: T[] = [];
  readonly #onLeave: () => void;
  #waiting: Reader<T> | undefined;
  #end: { error?: unknown } | undefined;

  /** @param onLeave called once if the reader leaves before the end */
  constructor(onLeave: () => void = () => undefined) {
    this.#onLeave = onLeave;
  }

  push(item: T): void {
    if (this.#end !== undefined) return;
    if (this.#waiting === undefined) this.#items.push(item);
    else
      this.#settle((waiting) => {
        waiting.resolve({ value: item, done: false });
      });
  }

  close(): void {
    this.#finish({});
  }

  fail(error: unknown): void {
    this.#finish({ error });
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#items.length > 0) {
        const item = this.#items.shift() as T;
        this.#settle((waiting) => {
          waiting.resolve({ value: item, done: false });
        });
      } else if (this.#end !== undefined) {
        this.#reportEnd(this.#end);
      }
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#items.length = 0;
    if (this.#end === undefined) {
      this.#finish({});
      this.#onLeave();
    }
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(end: { error?: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    if (this.#waiting !== undefined) this.#reportEnd(end);
  }

  /** An error is reported once; from then on the mailbox has simply ended. */
  #reportEnd(end: { error?: unknown }): void {
    this.#settle((waiting) => {
      if ('error' in end) waiting.reject(end.error);
      else waiting.resolve({ value: undefined, done: true });
    });
    this.#end = {};
  }

  #settle(how: (waiting: Reader<T>) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) how(waiting);
  }
}
