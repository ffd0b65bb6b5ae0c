import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { ParleyError } from '../../base/errors.js';
import type { OpenFile } from '../../store/files/file-store.js';

export interface FileReplyOptions {
  /** Closed when it is sent; null = there is none. */
  file: OpenFile | null;
  contentType: string;
  /** The file name for saving. */
  name: string;
  /** What the NOT_FOUND error calls the file. */
  what: string;
  /** The id in the NOT_FOUND error. */
  id: string;
}

/** A client that reads nothing for this long counts as gone. */
const STALLED_MS = 30_000;

/**
 * Sends a file, or the one byte range of a `Range` header (RFC 9110, section 14). For several ranges it sends the whole
 * file, as the RFC allows. Of a growing file it sends the current content.
 * @throws ParleyError NOT_FOUND
 */
export async function fileReply(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, contentType, name, what, id }: FileReplyOptions,
): Promise<FastifyReply> {
  if (file === null) throw new ParleyError('NOT_FOUND', { what, id });
  try {
    const { bytes: size, etag } = file;
    void reply.headers({
      'accept-ranges': 'bytes',
      'content-type': contentType,
      'content-disposition': dispositionOf(name),
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      etag,
    });
    const { 'if-range': condition, range: asked } = request.headers;
    const range = condition === undefined || condition === etag ? rangeOf(asked, size) : 'whole';
    if (range === 'none') {
      void reply
        .code(416)
        .header('content-range', `bytes */${String(size)}`)
        .type('application/json');
      return await reply.send({ detail: 'The file has no such range' });
    }
    const [start, end] = range === 'whole' ? [0, size - 1] : range;
    if (range !== 'whole') {
      void reply.code(206).header('content-range', `bytes ${String(start)}-${String(end)}/${String(size)}`);
    }
    void reply.header('content-length', String(end - start + 1));
    return await sent(request, reply, file, [start, end]);
  } finally {
    await file.close();
  }
}

/** The header that shows a file in a browser, and names it for saving. */
export function dispositionOf(name: string): string {
  return `inline; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`;
}

async function sent(
  { method }: FastifyRequest,
  reply: FastifyReply,
  file: OpenFile,
  [start, end]: readonly [number, number],
): Promise<FastifyReply> {
  if (method === 'HEAD' || end < start) return reply.send(Readable.from([])); // Fastify would set the length of a text
  reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy());
  return reply.send(await file.stream(start, end));
}

/** First and last byte; `whole` = no range, an invalid one or several; `none` = the range is outside the file. */
function rangeOf(header: string | undefined, size: number): 'whole' | 'none' | readonly [number, number] {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') return last === '0' || size === 0 ? 'none' : [Math.max(0, size - Number(last)), size - 1];
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)];
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'none' : [start, end];
}
