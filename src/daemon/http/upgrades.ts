import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ParleyError } from '../../base/errors.js';

/** A request for a WebSocket. */
export interface Upgrade {
  request: IncomingMessage;
  /** Path and query as they were asked for. */
  path: string;
  socket: Duplex;
  head: Buffer;
}

/** WebSockets that a server is asked for: each path is one endpoint's affair, the others are refused. */
export class Upgrades {
  readonly #endpoints: { matches: (path: string) => boolean; take: (upgrade: Upgrade) => void }[] = [];

  constructor(server: Server) {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const path = request.url ?? '';
      const [plain = ''] = path.split('?');
      const endpoint = this.#endpoints.find(({ matches }) => matches(plain));
      if (endpoint === undefined) {
        refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path: plain }));
      } else endpoint.take({ request, path, socket, head });
    });
  }

  /** @param matches whether a path, without its query, is the endpoint's */
  at(matches: (path: string) => boolean, take: (upgrade: Upgrade) => void): void {
    this.#endpoints.push({ matches, take });
  }
}

/** Answers with an error in place of the upgrade, and ends the connection. */
export function refuseUpgrade(socket: Duplex, error: ParleyError): void {
  const { httpStatus: status, message, code } = error;
  const body = JSON.stringify({ detail: message, code });
  socket.end(
    `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
  );
}

/** How many sockets one address may have open: nobody takes all the places. */
export class SocketPlaces {
  readonly #perAddress: number;
  readonly #taken = new Map<string, number>();

  constructor(perAddress: number) {
    this.#perAddress = perAddress;
  }

  /** Takes a place. Returns what gives it back; may be called twice. @throws ParleyError SOCKETS_FULL */
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
