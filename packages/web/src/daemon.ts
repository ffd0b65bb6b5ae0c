import type { SessionTokenReply } from '../../../src/transports/talk-protocol.js';
import { CallError, codeOfStatus } from './errors.js';

/** Timeout of requests to the daemon. */
const TIMEOUT_MS = 8000;
const PROBE_TIMEOUT_MS = 3000;

/** Requests to a daemon. They reject with a CallError. */
export class DaemonApi {
  readonly #base: string;
  readonly #signal: AbortSignal | null;

  /**
   * @param base its address, without a trailing slash
   * @param signal ends all requests
   */
  constructor(base: string, signal: AbortSignal | null = null) {
    this.#base = base;
    this.#signal = signal;
  }

  /** A token that opens one session, with the servers for WebRTC. */
  async sessionToken(publicKey: string): Promise<SessionTokenReply> {
    return (await this.json('/sessions/token', {
      method: 'POST',
      headers: { authorization: publicKey },
    })) as SessionTokenReply;
  }

  async json(path: string, init?: RequestInit): Promise<unknown> {
    const response = await this.#fetch(path, init);
    const body: unknown = await response.json().catch(() => null);
    if (response.ok && body !== null) return body;
    const { status } = response;
    throw new CallError(codeOfStatus(status), detailOf(body) ?? `The server answered ${String(status)}.`, { status });
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const signal = this.#signal === null ? timeout : AbortSignal.any([timeout, this.#signal]);
    try {
      return await fetch(this.#base + path, { ...init, cache: 'no-store', signal });
    } catch (error) {
      if (this.#signal?.aborted === true) throw new CallError('aborted', 'The call was given up.', { cause: error });
      if (!timeout.aborted && (await this.#isHidden())) {
        throw new CallError('refused', `The voice agent may not be used on pages of ${location.origin}.`, {
          cause: error,
        });
      }
      throw new CallError('unreachable', 'The server does not answer.', { cause: error });
    }
  }

  /** Whether the daemon answers, but the browser hides it: so it does where the page's origin is not allowed. */
  #isHidden(): Promise<boolean> {
    if (new URL(this.#base, location.href).origin === location.origin) return Promise.resolve(false);
    // Pages of all origins may read this one.
    const init = { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) } as const;
    return fetch(`${this.#base}/web-sdk.js`, init).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

function detailOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('detail' in body)) return null;
  return typeof body.detail === 'string' ? body.detail : null;
}
