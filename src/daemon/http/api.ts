import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type * as z from 'zod';
import type { Access } from './access.js';
import { checked, type Checks, checksOf } from './checked.js';
import { type AnyEndpoint, type CheckedRequest, type Endpoint, scopeOf, type Shape } from './endpoint.js';
import type { Forwarder } from './forwarder.js';
import type { NodePasses } from './node-pass.js';

type Call = CheckedRequest<Shape, Shape, z.ZodType>;
type Parts = Omit<Call, 'key' | 'request' | 'reply'>;

export interface ApiParts {
  access: Access;
  /** Of requests that other nodes pass on. */
  passes: NodePasses;
  /** Passes requests on to other nodes. */
  forwarder: Forwarder;
}

/**
 * The daemon's endpoints. A request's key is checked first, then its other parts. All endpoints are in the OpenAPI
 * document.
 */
export class Api {
  readonly endpoints: AnyEndpoint[] = [];
  readonly #app: FastifyInstance;
  readonly #access: Access;
  readonly #passes: NodePasses;
  readonly #forwarder: Forwarder;

  constructor(app: FastifyInstance, { access, passes, forwarder }: ApiParts) {
    this.#app = app;
    this.#access = access;
    this.#passes = passes;
    this.#forwarder = forwarder;
    // Bodies arrive as bytes. Each endpoint parses its own with `jsonBody`, which describes faults.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  }

  add<P extends Shape, Q extends Shape, B extends z.ZodType, R extends z.ZodType>(
    endpoint: Endpoint<P, Q, B, R>,
  ): void {
    const any = endpoint as unknown as AnyEndpoint;
    this.endpoints.push(any);
    if (any.upload === undefined) this.#route(this.#app, any);
    else {
      void this.#app.register(async (uploads) => {
        uploads.removeAllContentTypeParsers();
        uploads.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
        this.#route(uploads, any);
      });
    }
  }

  #route(app: FastifyInstance, endpoint: AnyEndpoint): void {
    const { method, path, bodyBytes } = endpoint;
    // Created at the first request, so that the start does not wait for them.
    let checks: Checks | null = null;
    const route: RouteOptions = {
      method,
      url: path.replace(/\{(\w+)\}/g, ':$1'),
      // Before the body is read: a client without a key learns nothing about faults of its request.
      onRequest: async (request) => {
        await this.#admit(request, endpoint);
      },
      handler: (request, reply) => {
        this.#passes.checkBody(request.raw, Buffer.isBuffer(request.body) ? request.body : null);
        const parts = checked((checks ??= checksOf(endpoint)), request) as Parts;
        return this.#answer(endpoint, { ...parts, key: this.#access.keyOf(request), request, reply });
      },
    };
    if (bodyBytes !== undefined) route.bodyLimit = bodyBytes;
    app.route(route);
  }

  /** Lets the node that has what the request is about answer it. */
  #answer({ owner, handle }: AnyEndpoint, call: Call): ReturnType<AnyEndpoint['handle']> {
    return owner === undefined ? handle(call) : this.#ownersAnswer(owner, handle, call);
  }

  async #ownersAnswer(
    ownerOf: NonNullable<AnyEndpoint['owner']>,
    handle: AnyEndpoint['handle'],
    call: Call,
  ): Promise<unknown> {
    const owner = await ownerOf(call);
    const isAnswered = owner !== null && (await this.#forwarder.forward(owner, call.request, call.reply));
    return isAnswered ? call.reply : handle(call);
  }

  async #admit(request: FastifyRequest, endpoint: AnyEndpoint): Promise<void> {
    const { gate = 'private' } = endpoint;
    if (gate === 'open') return;
    if (typeof gate === 'function') await gate(request);
    else this.#access.privateKey(request, scopeOf(endpoint));
  }
}
