const WIDTH = 30;
/** The width of the bar, its number and the space between. */
const BESIDE_LABEL = WIDTH + 9;
const USUAL_COLUMNS = 80;

type Stream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** A progress bar on standard error, if that is a terminal. */
export class ProgressBar {
  readonly #stream: Stream;
  readonly #label: string;
  #shown = -1;

  constructor(stream: Stream, label: string) {
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
    this.#stream.write(
      `\r${fitted(this.#label, (this.#stream.columns ?? USUAL_COLUMNS) - BESIDE_LABEL)} ${bar} ${String(percent).padStart(3)} %`,
    );
  }

  /** Clears the line of the bar. */
  clear(): void {
    if (this.#shown < 0) return;
    this.#shown = -1;
    this.#stream.write('\r\x1b[K');
  }
}

/** A wrapped line cannot be overwritten: a long label is truncated at the start. */
function fitted(label: string, columns: number): string {
  if (label.length <= columns) return label;
  return columns < 2 ? '' : `…${label.slice(1 - columns)}`;
}
