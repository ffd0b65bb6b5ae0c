import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WebSocketServer } from 'ws';
import type { WebhookEndpoint } from '../../telephony/carriers/media-socket/webhook-endpoint.js';
import { mediaSocketOf } from '../../telephony/carriers/media-socket/media-socket.js';
import type { Clock } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { CARRIER_PATHS } from '../http/rate-limit.js';
import { refuseUpgrade, type Upgrade, type Upgrades } from '../http/upgrades.js';

export interface CarrierEndpointOptions {
  /** The carrier of a path; null = none. Rejects if the telephone cannot be opened. */
  endpointAt: (path: string) => Promise<WebhookEndpoint | null>;
  clock: Clock;
  onError: (error: Error) => void;
}

/** Largest message of a media socket: 30 s of audio, which Telnyx allows. */
const MAX_MESSAGE_BYTES = 1_400_000;

/** Webhooks and media sockets of carriers. */
export class CarrierEndpoint {
  readonly #options: CarrierEndpointOptions;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });

  constructor(options: CarrierEndpointOptions) {
    this.#options = options;
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

  async #webhook({ raw, body }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = raw.url ?? '';
    const endpoint = await this.#options.endpointAt(path);
    if (endpoint === null) {
      reply.callNotFound();
      return reply;
    }
    const answer = await endpoint.request({
      method: raw.method ?? '',
      path,
      headers: headersOf(raw.headers),
      body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
    });
    return reply.code(answer.status).type(answer.contentType).send(answer.body);
  }

  async #socket({ request, path, socket, head }: Upgrade): Promise<void> {
    const { endpointAt, clock } = this.#options;
    const endpoint = await endpointAt(path);
    const take = endpoint?.admit({ path, headers: headersOf(request.headers) }) ?? null;
    if (endpoint === null) refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path }));
    else if (take === null) refuseUpgrade(socket, new ParleyError('LINK_INVALID', { reason: 'no call expects it' }));
    else this.#sockets.handleUpgrade(request, socket, head, (client) => take(mediaSocketOf(client, clock)));
  }
}

/** Joins the values of repeated headers with commas, or takes the first, as Node does. */
function headersOf(headers: NodeJS.Dict<string | string[]>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}
