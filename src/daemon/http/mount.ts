import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ParleyError } from '../../base/errors.js';
import type { Settings } from '../../settings/settings.js';

/** The base path as a prefix: `/parley`, or '' for none. */
export function prefixOf({ basePath }: Pick<Settings, 'basePath'>): string {
  return basePath === '/' ? '' : basePath;
}

/** @throws ParleyError CONFIG_INVALID if a public address does not end with the base path, so that its links would fail */
export function checkPublicUrls(settings: Pick<Settings, 'basePath' | 'publicUrl' | 'nodePublicUrl'>): void {
  const prefix = prefixOf(settings);
  for (const name of ['publicUrl', 'nodePublicUrl'] as const) {
    const url = settings[name];
    if (url === null || new URL(url).pathname.replace(/\/$/, '').endsWith(prefix)) continue;
    const right = url.replace(/\/$/, '') + prefix;
    const reason = `${name} is ${url}, but should end with the basePath ${prefix}, such as ${right}`;
    throw new ParleyError('CONFIG_INVALID', { reason });
  }
}

/** What answers a request whose URL is below the base path. */
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** The daemon's place on a server, its own or that of an application: a path, and all that is open below it. */
export class Mount {
  readonly prefix: string;
  readonly #answer: Answer;
  /** Answers and sockets that are open. */
  readonly #open = new Set<ServerResponse | Duplex>();
  #onIdle: (() => void) | null = null;

  /** @param prefix as `prefixOf` gives it */
  constructor(prefix: string, answer: Answer) {
    this.prefix = prefix;
    this.#answer = answer;
  }

  /** The part of a request's URL below the base path, which begins with a slash; null = it is outside. */
  below(url: string): string | null {
    if (!url.startsWith(this.prefix)) return null;
    const rest = url.slice(this.prefix.length);
    if (rest.startsWith('/')) return rest;
    return rest === '' || rest.startsWith('?') ? `/${rest}` : null;
  }

  /**
   * Answers a request below the base path.
   * @param url path and query as the client sent them
   * @returns false if it is outside
   */
  serve(request: IncomingMessage, response: ServerResponse, url: string): boolean {
    const path = this.below(url);
    if (path === null) return false;
    this.keep(response);
    if (this.prefix !== '' && !url.startsWith(`${this.prefix}/`)) this.#addSlash(response, path);
    else {
      request.url = path;
      this.#answer(request, response);
    }
    return true;
  }

  /** Counts an answer or a socket as open until it closes. */
  keep(one: ServerResponse | Duplex): void {
    this.#open.add(one);
    one.once('close', () => {
      this.#open.delete(one);
      if (this.#open.size === 0) this.#onIdle?.();
    });
  }

  /** Resolves when all answers and sockets have closed. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#open.size === 0) resolve();
      this.#onIdle = resolve;
    });
  }

  /** Closes what is still open. */
  cutOff(): void {
    for (const one of this.#open) one.destroy();
  }

  /** Relative links of the page need the slash. A relative location holds behind proxies that change the path, too. */
  #addSlash(response: ServerResponse, path: string): void {
    const name = this.prefix.slice(this.prefix.lastIndexOf('/') + 1);
    response.writeHead(308, { location: `${name}${path}`, 'content-length': '0' }).end();
  }
}
