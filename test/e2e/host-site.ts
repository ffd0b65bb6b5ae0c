import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface HostPage {
  html: string;
  headers: Readonly<Record<string, string>>;
}

/** Somebody's web site, on an origin of its own, whose pages have the widget on them. */
export class HostSite {
  readonly origin: string;
  readonly #server: Server;
  readonly #pages: Map<string, HostPage>;
  #count = 0;

  private constructor(server: Server, pages: Map<string, HostPage>) {
    this.#server = server;
    this.#pages = pages;
    this.origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  }

  static async open(): Promise<HostSite> {
    const pages = new Map<string, HostPage>();
    const server = createServer((request, response) => {
      const page = pages.get(request.url ?? '');
      // A browser that asks for an icon gets nothing, and has nothing to complain of.
      response.writeHead(page === undefined ? 204 : 200, { 'content-type': 'text/html', ...page?.headers });
      response.end(page?.html);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HostSite(server, pages);
  }

  /** Puts a page on the site. Returns its address. */
  page(body: string, headers: Readonly<Record<string, string>> = {}): string {
    const path = `/page-${String(++this.#count)}`;
    const head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A shop</title>';
    this.#pages.set(path, {
      html: `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`,
      headers,
    });
    return this.origin + path;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
