import type { FastifyInstance, FastifyReply } from 'fastify';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { packageFile } from '../../package-files.js';

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

/** What the page needs to know of this daemon. */
export interface PageInfo {
  publicKey: string;
  agents: readonly { id: string; name: string }[];
}

/** The page to talk on: its files, read once, and what it is told at `/page.json`. */
export function pageRoutes(app: FastifyInstance, info: () => PageInfo): void {
  const folder = packageFile('dist/web/');
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    const path = name === 'index.html' ? '/' : `/assets/${name}`;
    app.get(path, (_request, reply) => serve(reply, type, body));
  }
  app.get('/page.json', () => {
    const { publicKey, agents } = info();
    return { public_key: publicKey, agents };
  });
}

function serve(reply: FastifyReply, type: string, body: Buffer): FastifyReply {
  return reply.headers({ ...SECURITY_HEADERS, 'content-type': type, 'cache-control': 'no-cache' }).send(body);
}
