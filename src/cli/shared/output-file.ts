import { type FileHandle, open } from 'node:fs/promises';
import { ParleyError, reasonOf } from '../../base/errors.js';

/** Buffer size in characters. */
const BATCH_CHARS = 65_536;

/** An output file of a command. It is opened before the work starts, to report a wrong path early. */
export class OutputFile {
  readonly #path: string;
  readonly #file: FileHandle;
  #lines = '';
  #written: Promise<void> = Promise.resolve();

  constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** Adds a line of text; writes are buffered. */
  line(text: string): void {
    this.#lines += `${text}\n`;
    if (this.#lines.length >= BATCH_CHARS) this.#flush();
  }

  /** @throws ParleyError FILE_NOT_WRITABLE */
  async write(bytes: Uint8Array): Promise<void> {
    this.#append(bytes);
    await this.#written;
  }

  /** Resolves when the buffer is flushed. @throws ParleyError FILE_NOT_WRITABLE */
  written(): Promise<void> {
    return this.#written;
  }

  /** @throws ParleyError FILE_NOT_WRITABLE if lines could not be written */
  async close(): Promise<void> {
    this.#flush();
    try {
      await this.#written;
    } finally {
      await this.#file.close();
    }
  }

  #flush(): void {
    if (this.#lines !== '') this.#append(this.#lines);
    this.#lines = '';
  }

  #append(data: string | Uint8Array): void {
    this.#written = this.#written
      .then(() => this.#file.writeFile(data))
      .catch((error: unknown) => {
        throw notWritable(this.#path, error);
      });
    this.#written.catch(() => undefined); // reported by write or close
  }
}

/** @throws ParleyError FILE_NOT_WRITABLE */
export async function openOutput(path: string): Promise<OutputFile> {
  try {
    return new OutputFile(path, await open(path, 'w'));
  } catch (error) {
    throw notWritable(path, error);
  }
}

function notWritable(path: string, error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  return new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
}
