import type { FastifyReply, FastifyRequest } from 'fastify';
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Agent, Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.js';
import { abortAfter, raceAbort } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { Upgrade } from './upgrades.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';
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
}

export interface ForwarderOptions {
  node: { readonly id: string };
  nodes: NodeAddresses;
  passes: NodePasses;
  clock: Clock;
}

/** Until the other node has begun its answer. */
const HEAD_MS = 30_000;
/** A stream sends at least a comment every ten seconds. */
const SILENCE_MS = 45_000;
const CONNECT_MS = 3_000;

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
   * Lets another node take a WebSocket, and carries its bytes. Returns false if this one should: the owner is this node
   * or gone, or the request comes from a node.
   */
  async pipe({ nodeId, what }: Owner, { request, path, socket, head }: Upgrade): Promise<boolean> {
    const { node, nodes, passes, clock } = this.#options;
    if (nodeId === node.id || passes.has(request)) return false;
    const address = await nodes.addressOf(nodeId);
    if (address === null) return false;
    const url = new URL(address);
    const { host: _host, ...headers } = request.headers;
    headers[PASS_HEADER] = passes.headerFor(nodeId, request, { method: 'GET', url: path, body: null });
    const place = { path: prefixIn(url) + path, headers };
    const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url.origin, place);
    const cancel = clock.schedule(clock.nowMs() + HEAD_MS, () => outgoing.destroy(new Error('it does not answer')));
    socket.once('close', () => outgoing.destroy());
    outgoing.once('error', (error) => {
      cancel();
      if (!socket.destroyed)
        refuseUpgrade(socket, new ParleyError('NODE_UNREACHABLE', { what, reason: error.message }));
    });
    outgoing.once('response', (response) => {
      cancel();
      response.resume();
      socket.end(`${headText(response)}connection: close\r\n\r\n`);
    });
    outgoing.once('upgrade', (response: IncomingMessage, far: Duplex, farHead: Buffer) => {
      cancel();
      socket.write(`${headText(response)}\r\n`);
      socket.write(farHead);
      far.write(head);
      // A side that goes ends the other one.
      for (const [one, other] of [[socket, far] as const, [far, socket] as const]) {
        one.on('error', () => one.destroy());
        one.once('close', () => other.destroy());
        one.pipe(other);
      }
    });
    outgoing.end();
    return true;
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
      const place = new URL(address);
      const answer = agent.request({
        origin: place.origin,
        path: prefixIn(place) + url,
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

/** The base path of another node, which the addresses of its requests begin with. */
function prefixIn({ pathname }: URL): string {
  return pathname.replace(/\/$/, '');
}

/** The status line and the headers of an answer. */
function headText({ statusCode = 502, statusMessage = '', rawHeaders }: IncomingMessage): string {
  let text = `HTTP/1.1 ${String(statusCode)} ${statusMessage}\r\n`;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // Of an answer without the upgrade, only the head is passed on.
    if (statusCode !== 101 && OF_CONNECTION.has(name.toLowerCase())) continue;
    text += `${name}: ${rawHeaders[at + 1] ?? ''}\r\n`;
  }
  return text;
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
