import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  headersOf,
  type WebhookEndpoint,
  type WebhookRequest,
} from '../../telephony/carriers/media-socket/webhook-endpoint.js';
import { MediaSockets } from '../../telephony/carriers/media-socket/media-socket.js';
import type { Clock } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { Forwarder, Owner } from '../http/forwarder.js';
import { CARRIER_PATHS } from '../http/rate-limit.js';
import type { CallOwners } from '../nodes/call-owners.js';
import type { Upgrade, Upgrades } from '../http/upgrades.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';

export interface CarrierEndpointOptions {
  /** The carrier of a path; null = none. Rejects if the telephone cannot be opened. */
  endpointAt: (path: string) => Promise<WebhookEndpoint | null>;
  clock: Clock;
  /** Finds the nodes of calls by the carriers' ids. */
  owners: Pick<CallOwners, 'ofCallId'>;
  forwarder: Pick<Forwarder, 'forward' | 'pipe'>;
  onError: (error: Error) => void;
}

/** Tokens begin with the id of the node that made them. */
const NODE_TOKEN = /^([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})_/;
const NO_BODY = Buffer.alloc(0);

/** What the tokens of a node's calls begin with. */
export function nodeTokenPrefix(nodeId: string): string {
  return `${nodeId}_`;
}

/** Webhooks and media sockets of carriers. */
export class CarrierEndpoint {
  readonly #options: CarrierEndpointOptions;
  readonly #sockets: MediaSockets;

  constructor(options: CarrierEndpointOptions) {
    this.#options = options;
    this.#sockets = new MediaSockets(options.clock);
  }

  routes(app: FastifyInstance, upgrades: Upgrades): void {
    app.route({
      method: ['GET', 'POST'],
      url: `${CARRIER_PATHS}*`,
      handler: (request, reply) => this.#webhook(request, reply),
    });
    upgrades.at(
      (path) => path.startsWith(CARRIER_PATHS),
      (upgrade) => {
        this.#socket(upgrade).catch((error: unknown) => {
          this.#options.onError(errorOf(error));
          refuseUpgrade(upgrade.socket, new ParleyError('INTERNAL'));
        });
      },
    );
  }

  /** Refuses further sockets. */
  close(): void {
    this.#sockets.close();
  }

  async #webhook(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { raw } = request;
    const path = raw.url ?? '';
    const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY;
    const endpoint = await this.#options.endpointAt(path);
    if (endpoint === null) {
      reply.callNotFound();
      return reply;
    }
    const headers = headersOf(raw.headers);
    const owner = await this.#ownerOf(endpoint, { path, headers, body });
    if (owner !== null && (await this.#options.forwarder.forward(owner, request, reply))) return reply;
    const answer = await endpoint.request({ method: raw.method ?? '', path, headers, body });
    return reply.code(answer.status).type(answer.contentType).send(answer.body);
  }

  /** The node of the call that a request is about; null = it is about none, or this one decides. */
  async #ownerOf(endpoint: WebhookEndpoint, request: Omit<WebhookRequest, 'method'>): Promise<Owner | null> {
    const { token, callId } = endpoint.subjectOf(request);
    const nodeId = NODE_TOKEN.exec(token ?? '')?.[1];
    if (nodeId !== undefined) return { nodeId, what: 'call', isNeeded: false };
    return callId === null ? null : this.#options.owners.ofCallId(callId);
  }

  async #socket(upgrade: Upgrade): Promise<void> {
    const { endpointAt, forwarder } = this.#options;
    const { request, path, socket } = upgrade;
    const endpoint = await endpointAt(path);
    const headers = headersOf(request.headers);
    const owner = endpoint === null ? null : await this.#ownerOf(endpoint, { path, headers, body: NO_BODY });
    if (owner !== null && (await forwarder.pipe(owner, upgrade))) return;
    if (endpoint === null) refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path }));
    else this.#sockets.open(upgrade, endpoint.admit({ path, headers }));
  }
}
