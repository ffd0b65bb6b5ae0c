import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { CommandIo } from './command.js';

/** Buffer size in characters. */
const BATCH_CHARS = 65_536;

/** An output file of a command. It is opened before the work starts, to report a wrong path early. */
export class OutputFile {
  readonly #path: string;
  readonly #write: (data: string | Uint8Array) => Promise<void>;
  readonly #close: () => Promise<void>;
  #lines = '';
  #written: Promise<void> = Promise.resolve();

  constructor(path: string, write: (data: string | Uint8Array) => Promise<void>, close: () => Promise<void>) {
    this.#path = path;
    this.#write = write;
    this.#close = close;
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

  /** Resolves when full buffers are written. @throws ParleyError FILE_NOT_WRITABLE */
  written(): Promise<void> {
    return this.#written;
  }

  /** @throws ParleyError FILE_NOT_WRITABLE if lines could not be written */
  async close(): Promise<void> {
    this.#flush();
    try {
      await this.#written;
    } finally {
      await this.#close();
    }
  }

  #flush(): void {
    if (this.#lines !== '') this.#append(this.#lines);
    this.#lines = '';
  }

  #append(data: string | Uint8Array): void {
    this.#written = this.#written
      .then(() => this.#write(data))
      .catch((error: unknown) => {
        throw notWritable(this.#path, error);
      });
    this.#written.catch(() => undefined); // reported by write or close
  }
}

/** Opens a file; `-` is standard output. @throws ParleyError FILE_NOT_WRITABLE */
export async function openOutput(
  path: string,
  io: Pick<CommandIo, 'output' | 'stdout' | 'signal'>,
): Promise<OutputFile> {
  if (path === '-')
    return new OutputFile(
      'standard output',
      (data) => sent(data, io),
      async () => undefined,
    );
  let file: FileHandle;
  try {
    file = await open(path, 'w');
  } catch (error) {
    throw notWritable(path, error);
  }
  return new OutputFile(
    path,
    (data) => file.writeFile(data),
    () => file.close(),
  );
}

/** Work that writes a file by its path; for `-` it is a temporary file, sent to standard output afterwards. */
export async function withOutputPath<T>(
  path: string,
  io: Pick<CommandIo, 'output' | 'stdout' | 'signal'>,
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (path !== '-') return work(path);
  const folder = await mkdtemp(join(tmpdir(), 'parley-'));
  try {
    const file = join(folder, 'output');
    const result = await work(file);
    await pipeline(createReadStream(file), io.output ?? io.stdout, { end: false, signal: io.signal });
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves when the reader has caught up, or has closed the pipe. */
async function sent(
  data: string | Uint8Array,
  { output, stdout, signal }: Pick<CommandIo, 'output' | 'stdout' | 'signal'>,
): Promise<void> {
  const stream = output ?? stdout;
  if (stream.write(data)) return;
  const done = new AbortController();
  const either = { signal: AbortSignal.any([done.signal, signal]) };
  await Promise.race(['drain', 'close', 'error'].map((event) => once(stream, event, either))).catch(() => undefined);
  done.abort();
}

function notWritable(path: string, error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  return new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
}
