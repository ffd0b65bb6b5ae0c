import type { FastifyInstance } from 'fastify';
import { WebSocketServer } from 'ws';
import type { WebhookEndpoint } from '../../telephony/carriers/media-socket/webhook-endpoint.js';
import { mediaSocketOf } from '../../telephony/carriers/media-socket/media-socket.js';
import type { Clock } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { refuseUpgrade, type Upgrades } from '../http/upgrades.js';

export interface CarrierRoutesOptions {
  /** The carrier that a path belongs to; null = none. Rejects where the phone cannot be opened. */
  doorAt: (path: string) => Promise<WebhookEndpoint | null>;
  upgrades: Upgrades;
  clock: Clock;
  onError: (error: Error) => void;
}

/** Below it are the carriers' webhooks and media sockets; each carrier checks that it is itself who asks. */
export const CARRIER_PATHS = '/carriers/';

/** Largest message over a media socket: 30 s of sound, which Telnyx allows. */
const MAX_MESSAGE_BYTES = 1_400_000;

/** Carriers' webhooks, and the sockets that calls' sound comes over. Returns what ends them. */
export function carrierRoutes(app: FastifyInstance, options: CarrierRoutesOptions): () => void {
  const { doorAt, upgrades, clock, onError } = options;
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false });
  app.route({
    method: ['GET', 'POST'],
    url: `${CARRIER_PATHS}*`,
    handler: async ({ raw, body }, reply) => {
      const path = raw.url ?? '';
      const door = await doorAt(path);
      if (door === null) return reply.callNotFound();
      const answer = await door.request({
        method: raw.method ?? '',
        path,
        headers: headersOf(raw.headers),
        body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
      });
      return reply.code(answer.status).type(answer.contentType).send(answer.body);
    },
  });
  upgrades.at(
    (path) => path.startsWith(CARRIER_PATHS),
    ({ request, path, socket, head }) => {
      doorAt(path)
        .then((door) => {
          const take = door?.admit({ path, headers: headersOf(request.headers) }) ?? null;
          if (door === null) refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path }));
          else if (take === null)
            refuseUpgrade(socket, new ParleyError('LINK_INVALID', { reason: 'no call waits for it' }));
          else sockets.handleUpgrade(request, socket, head, (client) => take(mediaSocketOf(client, clock)));
        })
        .catch((error: unknown) => {
          onError(errorOf(error));
          refuseUpgrade(socket, new ParleyError('INTERNAL'));
        });
    },
  );
  return () => sockets.close();
}

/** Of names that came several times, all values with commas between them, as Node has them, or the first. */
function headersOf(headers: NodeJS.Dict<string | string[]>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}
