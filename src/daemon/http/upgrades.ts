import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { ParleyError } from '../../base/errors.js';
import type { NodePasses } from './node-pass.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';

/** A request to open a WebSocket. */
export interface Upgrade {
  request: IncomingMessage;
  /** Path and query of the request. */
  path: string;
  socket: Duplex;
  head: Buffer;
}

/** Dispatches WebSocket requests by path to the endpoints, and refuses unknown paths. */
export class Upgrades {
  readonly #endpoints: { matches: (path: string) => boolean; take: (upgrade: Upgrade) => void }[] = [];

  /** @param passes of requests that come from other nodes */
  constructor(server: Server, passes: Pick<NodePasses, 'admit'>) {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      try {
        passes.admit(request);
      } catch (error) {
        refuseUpgrade(socket, error instanceof ParleyError ? error : new ParleyError('INTERNAL'));
        return;
      }
      const path = request.url ?? '';
      const [plain = ''] = path.split('?');
      const endpoint = this.#endpoints.find(({ matches }) => matches(plain));
      if (endpoint === undefined) {
        refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path: plain }));
      } else endpoint.take({ request, path, socket, head });
    });
  }

  /** @param matches whether a path, without its query, belongs to the endpoint */
  at(matches: (path: string) => boolean, take: (upgrade: Upgrade) => void): void {
    this.#endpoints.push({ matches, take });
  }
}

/** Limits the open sockets of one address, so that no client can use all of them. */
export class SocketPlaces {
  readonly #perAddress: number;
  readonly #taken = new Map<string, number>();

  constructor(perAddress: number) {
    this.#perAddress = perAddress;
  }

  /** Counts a socket. Returns a function that releases it and may be called twice. @throws ParleyError SOCKETS_FULL */
  enter(address: string): () => void {
    const taken = this.#taken.get(address) ?? 0;
    if (taken >= this.#perAddress) throw new ParleyError('SOCKETS_FULL', { limit: this.#perAddress });
    this.#taken.set(address, taken + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const left = (this.#taken.get(address) ?? 1) - 1;
      if (left > 0) this.#taken.set(address, left);
      else this.#taken.delete(address);
    };
  }
}
