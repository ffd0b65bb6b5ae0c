import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ParleyError } from '../errors.js';

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
