import type { FastifyInstance } from 'fastify';
import type { PageDescription } from '../../transports/talk-protocol.js';
import { type BrowserFiles, serveFile } from '../browser-files.js';
import { WIDGET_PATHS } from './widget.js';

const HEADERS = {
  'content-security-policy':
    "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'microphone=(self)',
};

/** Where pages are found; everything else is theirs. */
const PATHS: Readonly<Record<string, string>> = { 'index.html': '/', 'docs.html': '/docs', 'console.html': '/console' };

/** The page to talk on at `/`, the one on the endpoints at `/docs`, the console, what they need, and what is told at `/page.json`. */
export function pageRoutes(app: FastifyInstance, files: BrowserFiles, describe: () => PageDescription): void {
  for (const [name, file] of files) {
    if (name in WIDGET_PATHS) continue;
    app.get(
      PATHS[name] ?? `/assets/${name}`,
      serveFile(file, () => HEADERS),
    );
  }
  app.get('/page.json', describe);
}
