import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** A request of the daemon to one of its own endpoints, on behalf of a client. */
export interface InnerRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query. */
  url: string;
  /** The client's `authorization` header. */
  authorization: string;
  /** The client's address. */
  address: string;
  headers?: Readonly<Record<string, string>>;
  /** JSON; undefined = no body. */
  body?: unknown;
  signal: AbortSignal;
}

export interface InnerAnswer {
  status: number;
  text: string;
}

const MARK_HEADER = 'x-parley-inner';

/**
 * Sends requests to the daemon's own endpoints without a network. They are checked as those of any client, and are not
 * counted: the client's request that they belong to was.
 */
export class InnerRequests {
  readonly #app: FastifyInstance;
  /** Only this process knows it. */
  readonly #mark = randomBytes(16).toString('base64url');

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  has({ headers }: IncomingMessage): boolean {
    return headers[MARK_HEADER] === this.#mark;
  }

  /** Rejects with the signal's reason. */
  async send({ method, url, authorization, address, headers, body, signal }: InnerRequest): Promise<InnerAnswer> {
    signal.throwIfAborted();
    const sent: Record<string, string> = { ...headers, authorization, [MARK_HEADER]: this.#mark };
    if (body !== undefined) sent['content-type'] = 'application/json';
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
    const answer = await this.#app.inject({ method, url, headers: sent, remoteAddress: address, signal, ...payload });
    return { status: answer.statusCode, text: answer.body };
  }
}
