import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { packageFile } from '../../package-files.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file for browsers, ready to send. */
export interface BrowserFile {
  type: string;
  body: Buffer;
  gzipped: () => Buffer;
  etag: string;
}

/** The build of `src/web`, by file name. */
export type BrowserFiles = ReadonlyMap<string, BrowserFile>;

/** Reads the files of the build. @throws ParleyError PAGE_NOT_BUILT */
export function loadBrowserFiles(): BrowserFiles {
  const folder = packageFile('dist/web/');
  try {
    const names = readdirSync(folder).filter((name) => TYPES[extname(name)] !== undefined);
    return new Map(names.map((name) => [name, browserFile(name, readFileSync(new URL(name, folder)))]));
  } catch (error) {
    throw new ParleyError('PAGE_NOT_BUILT', { reason: reasonOf(error) }, { cause: error });
  }
}

function browserFile(name: string, body: Buffer): BrowserFile {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  let gzipped: Buffer | null = null;
  return { type: TYPES[extname(name)] ?? '', body, gzipped: () => (gzipped ??= gzipSync(body, { level: 9 })), etag };
}

/** A route that sends a file: gzipped if the browser accepts it, or 304 if the browser has it already. */
export function serveFile(
  { type, body, gzipped, etag }: BrowserFile,
  headers: (request: FastifyRequest) => Readonly<Record<string, string>>,
): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  return (request, reply) => {
    const packed = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(request.headers['accept-encoding'] ?? '');
    void reply.headers({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
      etag,
      ...headers(request),
      vary: 'accept-encoding',
    });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    if (packed) void reply.header('content-encoding', 'gzip');
    return reply.send(packed ? gzipped() : body);
  };
}
