import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';

/** A stored file. */
export interface StoredFile {
  /** Its name in the store: a relative path with forward slashes, such as `recordings/<session id>.wav`. */
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedUnixMs: number;
}

/** A file that can be read. The caller closes it. */
export interface OpenFile extends StoredFile {
  /** Another one for each content, as in HTTP: with its quotes. */
  readonly etag: string;
  /**
   * The bytes from `start` to `end`, both included. Its end or its destruction frees the stream's resources.
   * @throws ParleyError FILE_STORE_FAILED, FILE_STORE_REFUSED; errors of the file system
   */
  stream(start: number, end: number): Promise<Readable>;
  /** May be called twice. Streams that were opened go on. */
  close(): Promise<void>;
}

/** A store of files by key: a folder, or a bucket. */
export interface FileStore {
  /** Null = there is no such file. @throws ParleyError FILE_STORE_FAILED, FILE_STORE_REFUSED */
  open(key: string): Promise<OpenFile | null>;
  /** Deletes files; those that do not exist do not matter. Resolves with the number of those that are known to have existed. */
  remove(keys: readonly string[]): Promise<number>;
  /** The files whose keys begin with a text that ends with a slash. */
  list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredFile, void, undefined>;
}

/** The whole content of a file, which is closed. @throws as `OpenFile.stream` */
export async function contentOf(file: OpenFile): Promise<Buffer> {
  try {
    return file.bytes === 0 ? Buffer.alloc(0) : await buffer(await file.stream(0, file.bytes - 1));
  } finally {
    await file.close();
  }
}
