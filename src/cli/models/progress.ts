import { ProgressBar } from '../shared/progress.js';
import type { CommandIo } from '../shared/command.js';
import { megabytes } from './download.js';

/** A bar on a terminal, otherwise a line per tenth. */
export class DownloadProgress {
  readonly #stream: CommandIo['stderr'];
  #bar: ProgressBar | null = null;
  #file = '';
  #shownTenths = 0;

  constructor(stream: CommandIo['stderr']) {
    this.#stream = stream;
  }

  note(text: string): void {
    this.clear();
    this.#stream.write(`${text}\n`);
  }

  update(file: string, bytes: number, total: number | null): void {
    if (file !== this.#file) {
      this.clear();
      this.#file = file;
      this.#shownTenths = 0;
    }
    if (total === null || total === 0) return;
    if (this.#stream.isTTY === true) {
      this.#bar ??= new ProgressBar(this.#stream, `${file} ${megabytes(total)}`);
      this.#bar.update(bytes / total);
      return;
    }
    const tenths = Math.floor((10 * bytes) / total);
    if (tenths > this.#shownTenths) this.#stream.write(`${file}: ${String(10 * tenths)} % of ${megabytes(total)}\n`);
    this.#shownTenths = Math.max(this.#shownTenths, tenths);
  }

  clear(): void {
    this.#bar?.clear();
    this.#bar = null;
  }
}
