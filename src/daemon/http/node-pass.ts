import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import { isEqualSecret } from '../../base/secret.js';
import type { Keys } from '../../store/secret-keys.js';
import type { Access } from './access.js';
import type { Clients } from './clients.js';

/** The header of a request that one node passes to another. */
export const PASS_HEADER = 'x-parley-node';

export interface NodePassesOptions {
  node: { readonly id: string };
  /** Of 32 bytes, the same on all nodes. The first one signs, all verify. */
  keys: Keys;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  access: Pick<Access, 'identityOf' | 'assume'>;
  clients: Pick<Clients, 'of' | 'assume'>;
}

/** Validity of a pass, ms. The nodes' clocks may differ by some seconds. */
const LIFETIME_MS = 30_000;

const publicKeySchema = z.strictObject({
  id: z.string().nullable(),
  agents: z.array(z.string()),
  origins: z.array(z.string()),
});
const passSchema = z.strictObject({
  /** The node that it is for. */
  to: z.string(),
  expiresUnixMs: z.number(),
  /** Method, URL and hash of the body of the request. */
  request: z.string(),
  /** Null = the other node asks for itself. */
  client: z
    .strictObject({
      address: z.string(),
      host: z.string().exactOptional(),
      protocol: z.enum(['http', 'https']),
      viaProxy: z.boolean(),
      isForwarded: z.boolean(),
    })
    .nullable(),
  /** The id of a stored key that the first node has checked. */
  keyId: z.string().nullable(),
  /** What a session token allows, which the first node has taken. */
  holder: publicKeySchema.nullable(),
});

/**
 * Passes of requests between nodes: HMAC-SHA256 over the request, the node that it is for, and what the first node knows
 * of the client. The key, an address behind proxies and a session token are checked once, by the first node.
 */
export class NodePasses {
  readonly #options: NodePassesOptions;
  readonly #keys: Keys;
  readonly #admitted = new WeakMap<IncomingMessage, { request: string; isOfNode: boolean }>();

  constructor(options: NodePassesOptions) {
    this.#options = options;
    const [first, ...others] = options.keys;
    this.#keys = [derived(first), ...others.map(derived)];
  }

  /**
   * The header of a request to another node.
   * @param from the client's request that is passed on; null = this node asks for itself
   */
  headerFor(to: string, from: IncomingMessage | null, { method, url, body }: PassedRequest): string {
    const { access, nowUnixMs } = this.#options;
    const { keyId, holder } = from === null ? { keyId: null, holder: null } : access.identityOf(from);
    const pass: z.output<typeof passSchema> = {
      to,
      expiresUnixMs: nowUnixMs() + LIFETIME_MS,
      request: requestText(method, url, body),
      client: from === null ? null : this.#client(from),
      keyId,
      holder: holder === null ? null : { id: holder.id, agents: [...holder.agents], origins: [...holder.origins] },
    };
    const text = Buffer.from(JSON.stringify(pass)).toString('base64url');
    return `${text}.${signatureOf(this.#keys[0], text)}`;
  }

  /**
   * Takes over what another node knows of the client, if the request has a pass. Call it before anything asks for its
   * key or its client.
   * @param url path and query of the request, below the base path
   * @throws ParleyError NODE_REFUSED for a pass that was not signed with the key, has expired or is for another node
   */
  admit(request: IncomingMessage, url = request.url ?? ''): void {
    const header = request.headers[PASS_HEADER];
    if (header === undefined) return;
    const [text = '', signature = ''] = String(header).split('.', 2);
    if (!this.#keys.some((key) => isEqualSecret(signature, signatureOf(key, text)))) {
      throw new ParleyError('NODE_REFUSED', { reason: 'its signature is wrong: nodes need the same signing key' });
    }
    const pass = passSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    const { node, nowUnixMs, access, clients } = this.#options;
    if (pass.to !== node.id) throw new ParleyError('NODE_REFUSED', { reason: 'it is for another node' });
    if (nowUnixMs() > pass.expiresUnixMs) {
      throw new ParleyError('NODE_REFUSED', { reason: 'it has expired: do the clocks of the nodes differ?' });
    }
    if (!pass.request.startsWith(requestText(request.method ?? '', url, null))) {
      throw new ParleyError('NODE_REFUSED', { reason: 'it is for another request' });
    }
    const { client, keyId, holder } = pass;
    this.#admitted.set(request, { request: pass.request, isOfNode: client === null });
    if (client !== null) clients.assume(request, { ...client, host: client.host });
    access.assume(request, { keyId, holder });
  }

  /** The gate of endpoints for nodes. @throws ParleyError NODE_REFUSED unless another node asks for itself */
  nodesOnly(request: IncomingMessage): void {
    if (this.#admitted.get(request)?.isOfNode === true) return;
    throw new ParleyError('NODE_REFUSED', { reason: 'only other nodes may ask for this' });
  }

  /** Whether another node passed the request on. It is not passed on again. */
  has(request: IncomingMessage): boolean {
    return this.#admitted.has(request);
  }

  /** @throws ParleyError NODE_REFUSED if the body of a passed request is not the one that was sent */
  checkBody(request: IncomingMessage, body: Buffer | null): void {
    const expected = this.#admitted.get(request)?.request;
    if (expected === undefined || expected === requestText(request.method ?? '', request.url ?? '', body)) return;
    throw new ParleyError('NODE_REFUSED', { reason: 'its body has changed' });
  }

  #client(request: IncomingMessage): z.output<typeof passSchema>['client'] {
    const { address, host, protocol, viaProxy, isForwarded } = this.#options.clients.of(request);
    const known = { address, protocol, viaProxy, isForwarded };
    return host === undefined ? known : { ...known, host };
  }
}

/** Signed links have the same key; no text is valid for both. */
function derived(key: Buffer): Buffer {
  return createHmac('sha256', key).update('parley requests between nodes').digest();
}

function signatureOf(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** A request as another node gets it. */
export interface PassedRequest {
  method: string;
  url: string;
  body: Buffer | null;
}

function requestText(method: string, url: string, body: Buffer | null): string {
  const hash = body === null || body.length === 0 ? '' : createHash('sha256').update(body).digest('base64url');
  return `${method} ${url}\n${hash}`;
}
