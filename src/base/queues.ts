/** Runs works one after the other. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  /** Resolves when the works that were asked for before have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** Runs the works of each key one after the other. A work that has none before it starts at once. */
export class Queues {
  /** By key: resolves when the last work has ended. */
  readonly #last = new Map<string, Promise<void>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work);
    const ended = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, ended);
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    return mine;
  }

  /** Resolves when no work is left, of one key or of all. */
  async idle(key?: string): Promise<void> {
    if (key !== undefined) return this.#last.get(key);
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
