import type { FastifyInstance } from 'fastify';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { ParleyError, reasonOf } from '../../errors.js';
import { packageFile } from '../../package-files.js';
import type { PageDescription } from '../../transports/talk-protocol.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'microphone=(self)',
};

/** Where pages are found; everything else is theirs. */
const PATHS: Readonly<Record<string, string>> = { 'index.html': '/', 'docs.html': '/docs' };

/** The pages' files, by name, as they are sent. */
export type PageFiles = ReadonlyMap<string, { type: string; body: Buffer }>;

/** Reads the pages' files as the build left them. @throws ParleyError PAGE_NOT_BUILT */
export function loadPage(): PageFiles {
  const folder = packageFile('dist/web/');
  try {
    const names = readdirSync(folder).filter((name) => TYPES[extname(name)] !== undefined);
    return new Map(
      names.map((name) => [name, { type: TYPES[extname(name)] ?? '', body: readFileSync(new URL(name, folder)) }]),
    );
  } catch (error) {
    throw new ParleyError('PAGE_NOT_BUILT', { reason: reasonOf(error) }, { cause: error });
  }
}

/** The page to talk on at `/`, the one on the endpoints at `/docs`, what both need, and what the first is told at `/page.json`. */
export function pageRoutes(app: FastifyInstance, files: PageFiles, describe: () => PageDescription): void {
  for (const [name, { type, body }] of files) {
    const path = PATHS[name] ?? `/assets/${name}`;
    app.get(path, (_request, reply) =>
      reply.headers({ ...SECURITY_HEADERS, 'content-type': type, 'cache-control': 'no-cache' }).send(body),
    );
  }
  app.get('/page.json', describe);
}
