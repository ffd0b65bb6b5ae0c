const WIDTH = 30;

/** A bar on a terminal's error stream; silent where that is no terminal. Clears its line when it is done. */
export class ProgressBar {
  readonly #stream: NodeJS.WritableStream & { isTTY?: boolean };
  readonly #label: string;
  #shown = -1;

  constructor(stream: NodeJS.WritableStream & { isTTY?: boolean }, label: string) {
    this.#stream = stream;
    this.#label = label;
  }

  /** @param share 0..1 */
  update(share: number): void {
    const percent = Math.floor(Math.min(1, Math.max(0, share)) * 100);
    if (this.#stream.isTTY !== true || percent === this.#shown) return;
    this.#shown = percent;
    const filled = Math.round((WIDTH * percent) / 100);
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    this.#stream.write(`\r${this.#label} ${bar} ${String(percent).padStart(3)} %`);
  }

  /** May be called twice. */
  clear(): void {
    if (this.#shown < 0) return;
    this.#shown = -1;
    this.#stream.write('\r\x1b[K');
  }
}
