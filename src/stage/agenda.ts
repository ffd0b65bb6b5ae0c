/** Actions at moments of virtual time, ordered by time; actions at the same time run in the order of their addition. */
export class Agenda {
  readonly #items: { atMs: number; run: () => void }[] = [];

  get nextMs(): number | undefined {
    return this.#items[0]?.atMs;
  }

  add(atMs: number, run: () => void): void {
    let index = this.#items.length;
    while (index > 0 && (this.#items[index - 1]?.atMs ?? 0) > atMs) index--;
    this.#items.splice(index, 0, { atMs, run });
  }

  /** Removes the first action and runs it. */
  runNext(): void {
    this.#items.shift()?.run();
  }
}
