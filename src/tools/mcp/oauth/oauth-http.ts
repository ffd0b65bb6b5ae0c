import type { Agent } from 'undici';
import type { Clock } from '../../../base/clock.js';
import { withTimeout } from '../../../base/deadlines.js';
import { parseJson } from '../../../base/json.js';
import { readBody } from '../../../net/guarded-client.js';

export interface OAuthReply {
  status: number;
  /** The header `WWW-Authenticate`; '' = there is none. */
  challenge: string;
  /** The JSON object of the body; {} = it is none. */
  body: Readonly<Record<string, unknown>>;
}

export interface OAuthRequest {
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

const ANSWER_MS = 10_000;
const MAX_BYTES = 262_144;

/** Requests to authorization servers. It follows no redirect: each address is checked where it comes from. */
export class OAuthHttp {
  readonly #clock: Clock;
  #agent: Promise<Agent> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws what the network refuses; the signal's reason */
  send(url: string, { method = 'GET', headers = {}, body }: OAuthRequest, signal: AbortSignal): Promise<OAuthReply> {
    return withTimeout(
      this.#clock,
      ANSWER_MS,
      async (inTime) => {
        const agent = await this.#open();
        const { origin, pathname, search } = new URL(url);
        const reply = await agent.request({
          origin,
          path: pathname + search,
          method,
          headers: { 'user-agent': 'parley', accept: 'application/json', ...headers },
          body: body ?? null,
          signal: inTime,
        });
        const challenge = [reply.headers['www-authenticate'] ?? []].flat().join(', ');
        const isJson = String(reply.headers['content-type'] ?? '').includes('json');
        if (!isJson) {
          // Streams of the servers that are asked for their challenge do not end.
          reply.body.on('error', () => undefined).destroy();
          return { status: reply.statusCode, challenge, body: {} };
        }
        const text = (await readBody(reply.body, MAX_BYTES)).toString('utf8');
        return { status: reply.statusCode, challenge, body: objectOf(text) };
      },
      signal,
    );
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
    this.#agent = null;
  }

  #open(): Promise<Agent> {
    this.#agent ??= import('../../../base/undici.js').then(
      ({ Agent }) => new Agent({ connect: { timeout: ANSWER_MS } }),
    );
    return this.#agent;
  }
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
