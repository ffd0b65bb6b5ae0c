import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { ParleyError } from '../../base/errors.js';

export interface FileReplyOptions {
  path: string;
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
  { path, contentType, name, what, id }: FileReplyOptions,
): Promise<FastifyReply> {
  const file = await open(path, 'r').catch(() => {
    throw new ParleyError('NOT_FOUND', { what, id });
  });
  try {
    const { size, mtimeMs } = await file.stat();
    const etag = `"${size.toString(16)}-${Math.floor(mtimeMs).toString(16)}"`;
    void reply.headers({
      'accept-ranges': 'bytes',
      'content-type': contentType,
      'content-disposition': `inline; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      etag,
    });
    const { 'if-range': condition, range: asked } = request.headers;
    const range = condition === undefined || condition === etag ? rangeOf(asked, size) : 'whole';
    if (range === 'none') {
      await file.close();
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
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function sent(
  { method }: FastifyRequest,
  reply: FastifyReply,
  file: FileHandle,
  [start, end]: readonly [number, number],
): Promise<FastifyReply> {
  if (method === 'HEAD' || end < start) {
    await file.close();
    return reply.send(Readable.from([])); // Fastify would set the length of a text
  }
  reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy());
  return reply.send(file.createReadStream({ start, end }));
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
