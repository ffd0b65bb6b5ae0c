import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

/** The body of a request, which can be sent more than once. */
export interface Payload {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly md5: Buffer;
  /** What is sent: the same bytes each time. */
  open(): Readable | Buffer;
}

/** Read at a time: it is hashed in a fraction of a millisecond, so that calls on this thread go on meanwhile. */
const CHUNK_BYTES = 65_536;

/** A body in memory. */
export function payloadOf(body: Buffer): Payload {
  return {
    bytes: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
    md5: createHash('md5').update(body).digest(),
    open: () => body,
  };
}

/**
 * A part of a file as a body. It is read twice, so that its checksums can be sent first and that it is never in memory.
 * @param end the position after its last byte
 * @throws errors of the file system; Error for a file that is shorter
 */
export async function payloadIn(path: string, start: number, end: number, signal: AbortSignal): Promise<Payload> {
  const [sha256, md5] = [createHash('sha256'), createHash('md5')];
  let bytes = 0;
  if (end > start) {
    for await (const chunk of part(path, start, end, signal)) {
      const piece = chunk as Buffer;
      sha256.update(piece);
      md5.update(piece);
      bytes += piece.length;
    }
  }
  if (bytes !== end - start) throw new Error(`${path} has become shorter`);
  return {
    bytes,
    sha256: sha256.digest('hex'),
    md5: md5.digest(),
    open: () => (bytes === 0 ? Buffer.alloc(0) : part(path, start, end, signal)),
  };
}

function part(path: string, start: number, end: number, signal: AbortSignal): Readable {
  return createReadStream(path, { start, end: end - 1, highWaterMark: CHUNK_BYTES, signal });
}
