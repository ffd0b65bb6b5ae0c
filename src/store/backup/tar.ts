import { type FileHandle } from 'node:fs/promises';

/**
 * The part of the POSIX ustar format (IEEE 1003.1, pax, "ustar Interchange Format") that a backup needs: plain files
 * with short names. The command `tar` reads it.
 */
const BLOCK = 512;
/** Eleven octal digits. */
export const MAX_TAR_BYTES = 8 ** 11 - 1;

export interface TarEntry {
  name: string;
  bytes: number;
}

/** The header block of a file. @throws RangeError if the name or the size does not fit */
export function tarHeader({ name, bytes }: TarEntry, mtimeS: number): Buffer {
  if (!/^[\x21-\x7e]{1,100}$/.test(name) || bytes > MAX_TAR_BYTES) throw new RangeError(`${name} does not fit`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  header.write(name, 0, 'latin1');
  octal(0o600, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes, 124, 12);
  octal(Math.floor(mtimeS), 136, 12);
  header.write('        ', 148, 'latin1'); // the checksum counts its own field as spaces
  header.write('0', 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** The entry of a header block; null = the block of zeros at the end of the archive. @throws Error for anything else */
export function readTarHeader(header: Buffer): TarEntry | null {
  if (header.length < BLOCK) throw new Error('it ends too early');
  if (header.every((byte) => byte === 0)) return null;
  const text = (at: number, length: number): string =>
    header.toString('latin1', at, at + length).replace(/\0[^]*$/, '');
  const sum = Number.parseInt(text(148, 8), 8);
  const spaced = Buffer.from(header);
  spaced.write('        ', 148, 'latin1');
  if (sum !== checksum(spaced) || text(257, 6) !== 'ustar') throw new Error('it is not a backup, or it is damaged');
  if (text(156, 1) !== '0') throw new Error('it holds an entry that is not a plain file');
  return { name: text(0, 100), bytes: Number.parseInt(text(124, 12), 8) };
}

/** The zeros between the end of a file and the next block. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);
}

/** Two blocks of zeros. */
export const TAR_END = Buffer.alloc(2 * BLOCK);

function checksum(header: Buffer): number {
  return header.reduce((sum, byte) => sum + byte, 0);
}

/** Reads the entries of an archive in order. */
export class TarReader {
  readonly #file: FileHandle;
  #at = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** The next entry; null after the last one. Read the `content` of the previous entry to its end first. */
  async next(): Promise<(TarEntry & { content: AsyncIterable<Buffer> }) | null> {
    const header = await this.#read(BLOCK);
    const entry = readTarHeader(header);
    return entry === null ? null : { ...entry, content: this.#content(entry.bytes) };
  }

  async *#content(bytes: number): AsyncIterable<Buffer> {
    for (let left = bytes; left > 0;) {
      const chunk = await this.#read(Math.min(left, 1_048_576));
      if (chunk.length === 0) throw new Error('it ends too early');
      left -= chunk.length;
      yield chunk;
    }
    this.#at += tarPadding(bytes).length;
  }

  async #read(bytes: number): Promise<Buffer> {
    const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(bytes), 0, bytes, this.#at);
    this.#at += bytesRead;
    return buffer.subarray(0, bytesRead);
  }
}
