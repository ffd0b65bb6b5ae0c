/** Things to do at moments of virtual time: in the order of their times, and where these are equal, as they were added. */
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

  /** Takes the first thing out and does it. */
  runNext(): void {
    this.#items.shift()?.run();
  }
}
