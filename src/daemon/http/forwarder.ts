import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Agent, Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.js';
import { abortAfter, raceAbort } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { NodeIdentity } from '../nodes/this-node.js';
import { type NodePasses, PASS_HEADER, type PassedRequest } from './node-pass.js';

/** The node that has what a request is about. */
export interface Owner {
  nodeId: string;
  /** What it has, for errors: "call". */
  what: string;
  /** False = if the node is gone, this one answers with what it knows. */
  isNeeded: boolean;
}

/** Finds other nodes. */
export interface NodeAddresses {
  /** The address of another node that lives; null = there is no such node. */
  addressOf(id: string): Promise<string | null>;
  /** Ids of all other nodes that live. */
  others(): Promise<readonly string[]>;
}

export interface ForwarderOptions {
  node: Pick<NodeIdentity, 'id'>;
  nodes: NodeAddresses;
  passes: NodePasses;
  clock: Clock;
}

/** Until the other node has begun its answer. */
const HEAD_MS = 30_000;
/** A stream sends at least a comment every ten seconds. */
const SILENCE_MS = 45_000;
const CONNECT_MS = 3_000;
/** Largest answer that is read as a whole. */
const MOST_BYTES = 1_048_576;

/** Headers about one connection (RFC 9110, 7.6.1), and those that the sender sets itself. */
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'content-length',
]);

/** Passes requests on to the node that has what they are about, and its answers back, as streams. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  #agent: Promise<Agent> | null = null;
  #isClosed = false;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * Lets another node answer a request. Returns false if this one should: the owner is this node or gone, or the request
   * comes from a node.
   * @throws ParleyError NODE_UNREACHABLE
   */
  async forward(owner: Owner, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { node, nodes, passes } = this.#options;
    const { nodeId, what, isNeeded } = owner;
    if (nodeId === node.id || passes.has(request.raw)) return false;
    const address = await nodes.addressOf(nodeId);
    if (address === null) {
      if (!isNeeded) return false;
      throw new ParleyError('NODE_UNREACHABLE', { what, reason: 'it has stopped; another one closes its calls' });
    }
    const left = new AbortController();
    reply.raw.once('close', () => left.abort(new Error('the client has gone')));
    let answer: Dispatcher.ResponseData;
    try {
      answer = await this.#send(clientOf(request), { ...passedOf(request), nodeId, address }, left.signal);
    } catch (error) {
      if (left.signal.aborted) {
        reply.hijack();
        return true;
      }
      throw new ParleyError('NODE_UNREACHABLE', { what, reason: reasonOf(error) }, { cause: error });
    }
    // A stream may send nothing for a while, so its head must not wait for the first piece.
    reply.hijack();
    const headers = Object.entries({ ...reply.getHeaders(), ...withoutConnection(answer.headers) });
    for (const [name, value] of headers) if (value !== undefined) reply.raw.setHeader(name, value);
    reply.raw.writeHead(answer.statusCode);
    reply.raw.flushHeaders();
    // A side that goes ends the other one.
    await pipeline(answer.body, reply.raw).catch(() => reply.raw.destroy());
    return true;
  }

  /**
   * Sends a request to all other nodes, too.
   * @returns their JSON answers
   * @throws ParleyError NODE_UNREACHABLE if one does not answer; the others have done it
   */
  async spread(request: FastifyRequest): Promise<readonly unknown[]> {
    const { nodes, passes, clock } = this.#options;
    if (passes.has(request.raw)) return [];
    const ids = await nodes.others();
    const whole = abortAfter(clock, HEAD_MS);
    const asked = ids.map(async (nodeId) => {
      try {
        const address = await nodes.addressOf(nodeId);
        if (address === null) return [];
        const parts = { ...passedOf(request), nodeId, address };
        return [await jsonOf(await this.#send(clientOf(request), parts, whole.signal))];
      } catch (error) {
        const what = `rest of what "${request.method} ${request.routeOptions.url ?? ''}" is about`;
        throw new ParleyError('NODE_UNREACHABLE', { what, reason: `${nodeId}: ${reasonOf(error)}` }, { cause: error });
      }
    });
    const answers = await Promise.allSettled(asked);
    whole.cancel();
    return answers.flatMap((answer) => {
      if (answer.status === 'rejected') throw answer.reason as Error;
      return answer.value;
    });
  }

  /**
   * Asks another node for something, as a node.
   * @returns the answer, whose body may still come; null = there is no such node
   * @throws what the network refuses; the signal's reason
   */
  async ask(
    nodeId: string,
    { method, url, headers = {} }: Pick<PassedRequest, 'method' | 'url'> & { headers?: IncomingHttpHeaders },
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData | null> {
    const address = await this.#options.nodes.addressOf(nodeId);
    if (address === null) return null;
    return this.#send({ from: null, headers }, { nodeId, address, method, url, body: null }, signal);
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#agent)?.destroy();
  }

  /** Resolves with the head of the answer. The body may still come. */
  async #send(
    { from, headers: given }: { from: IncomingMessage | null; headers: IncomingHttpHeaders },
    { nodeId, address, ...request }: PassedRequest & { nodeId: string; address: string },
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { passes, clock } = this.#options;
    const { method, url, body } = request;
    const agent = await this.#open();
    const headers = withoutConnection(given);
    headers[PASS_HEADER] = passes.headerFor(nodeId, from, request);
    const head = abortAfter(clock, HEAD_MS, signal);
    const whole = new AbortController();
    signal.addEventListener('abort', () => whole.abort(signal.reason), { once: true });
    try {
      const answer = agent.request({
        origin: new URL(address).origin,
        path: url,
        method,
        headers,
        body,
        signal: whole.signal,
      });
      answer.catch(() => undefined); // it may fail after the deadline
      return await raceAbort(answer, head.signal);
    } catch (error) {
      whole.abort(error);
      throw error;
    } finally {
      head.cancel();
    }
  }

  #open(): Promise<Agent> {
    if (this.#isClosed) throw new Error('this node has stopped');
    this.#agent ??= import('../../base/undici.js').then(
      ({ Agent }) => new Agent({ connect: { timeout: CONNECT_MS }, headersTimeout: 0, bodyTimeout: SILENCE_MS }),
    );
    return this.#agent;
  }
}

async function jsonOf({ statusCode, body }: Dispatcher.ResponseData): Promise<unknown> {
  let text = '';
  for await (const piece of body) {
    text += String(piece);
    if (text.length > MOST_BYTES) throw new Error('its answer is too long');
  }
  if (statusCode !== 200) throw new Error(`it answered ${String(statusCode)}: ${text.slice(0, 200)}`);
  return JSON.parse(text);
}

function clientOf({ raw }: FastifyRequest): { from: IncomingMessage; headers: IncomingHttpHeaders } {
  return { from: raw, headers: raw.headers };
}

/** The request as it came. */
function passedOf({ raw: { method = 'GET', url = '/' }, body }: Pick<FastifyRequest, 'raw' | 'body'>): PassedRequest {
  return { method, url, body: Buffer.isBuffer(body) && body.length > 0 ? body : null };
}

function withoutConnection(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set([headers.connection ?? []].flat().flatMap((text) => text.toLowerCase().split(/ *, */)));
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !OF_CONNECTION.has(name) && !named.has(name)) kept[name] = value;
  }
  return kept;
}
