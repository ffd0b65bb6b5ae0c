import type { PageDescription, SessionTokenReply } from '../../transports/talk-protocol.js';
import { home } from '../shared/home.js';
import { DaemonError } from './daemon-error.js';

/** Timeout of requests to the daemon. */
const TIMEOUT_MS = 8000;

/** A daemon, by default the one that served this page. Requests reject with a DaemonError. */
export class DaemonApi {
  readonly #base: string;

  /** @param base its address, without a trailing slash */
  constructor(base: string = home()) {
    this.#base = base;
  }

  /** The daemon's description. */
  async describe(): Promise<PageDescription> {
    return (await this.json('/page.json')) as PageDescription;
  }

  /** A token that opens one session. */
  async sessionToken(publicKey: string): Promise<string> {
    const init = { method: 'POST', headers: { authorization: publicKey } };
    return ((await this.json('/sessions/token', init)) as SessionTokenReply).token;
  }

  async json(path: string, init?: RequestInit): Promise<unknown> {
    const response = await this.#fetch(path, init);
    const body: unknown = await response.json().catch(() => null);
    if (response.ok && body !== null) return body;
    throw new DaemonError(detailOf(body) ?? `The server answered ${String(response.status)}.`, response.status);
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    try {
      return await fetch(this.#base + path, { ...init, cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch (error) {
      throw new DaemonError('The server does not answer.', null, { cause: error });
    }
  }
}

function detailOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('detail' in body)) return null;
  return typeof body.detail === 'string' ? body.detail : null;
}
