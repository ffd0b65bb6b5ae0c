import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { PageDescription } from '../../transports/talk-protocol.js';
import { type BrowserFiles, serveFile } from '../http/browser-files.js';
import type { Access } from '../http/access.js';

/** URL paths of the widget's files and of those that it shares with the page. */
export const WIDGET_PATHS: Readonly<Record<string, string>> = {
  'widget.html': '/widget',
  'widget.js': '/widget.js',
  'capture-worklet.js': '/assets/capture-worklet.js',
  'playback-worklet.js': '/assets/playback-worklet.js',
  'icon.svg': '/assets/icon.svg',
};

/** Pages of all origins may load them, even isolated ones (Fetch 3.2 and 3.7). */
const FOR_ALL_PAGES = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' };

export interface WidgetRoutesOptions {
  access: Access;
  /** Gateways by name. The widget may connect to them. */
  regions: Readonly<Record<string, string>>;
}

/** The script of the embed snippet with its files, and the widget as a page for frames at `/widget`. */
export function widgetRoutes(
  app: FastifyInstance,
  files: BrowserFiles,
  { access, regions }: WidgetRoutesOptions,
): void {
  const gateways = Object.values(regions).map((address) => new URL(address).origin);
  const policy = [
    "default-src 'none'; script-src 'self'; img-src * data:; base-uri 'none'; form-action 'none'",
    ['connect-src', "'self'", 'ws:', 'wss:', ...gateways].join(' '),
  ].join('; ');
  const frameHeaders = (request: FastifyRequest): Record<string, string> => {
    const { public_key: key } = request.query as { public_key?: unknown };
    const framers = access.framers(typeof key === 'string' ? key : '');
    return {
      'content-security-policy': `${policy}; frame-ancestors ${framers.join(' ')}`,
      'referrer-policy': 'no-referrer',
      'permissions-policy': 'microphone=(self), autoplay=(self)',
      'cross-origin-resource-policy': 'cross-origin',
    };
  };
  for (const [name, path] of Object.entries(WIDGET_PATHS)) {
    const file = files.get(name);
    if (file === undefined) continue;
    app.get(path, serveFile(file, name === 'widget.html' ? frameHeaders : () => FOR_ALL_PAGES));
  }
}

const HEADERS = {
  'content-security-policy':
    "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'microphone=(self)',
};

/** URL paths of the pages. The other files belong to them. */
const PATHS: Readonly<Record<string, string>> = { 'index.html': '/', 'docs.html': '/docs', 'console.html': '/console' };

/** The talk page at `/`, the API page at `/docs`, the console, their files, and `/page.json`. */
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
