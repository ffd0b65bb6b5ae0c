import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Cancel, Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { Mount } from './mount.js';
import type { NodePasses } from './node-pass.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';

/** A request to open a WebSocket. */
export interface Upgrade {
  request: IncomingMessage;
  /** Path and query of the request, below the base path. */
  path: string;
  socket: Duplex;
  head: Buffer;
}

/** Dispatches WebSocket requests by path to the endpoints. */
export class Upgrades {
  readonly #endpoints: { matches: (path: string) => boolean; take: (upgrade: Upgrade) => void }[] = [];

  readonly #mount: Mount;
  readonly #passes: Pick<NodePasses, 'admit'>;

  /** @param passes of requests that come from other nodes */
  constructor(mount: Mount, passes: Pick<NodePasses, 'admit'>) {
    this.#mount = mount;
    this.#passes = passes;
  }

  /**
   * Gives a request to open a WebSocket to its endpoint.
   * @returns false if no endpoint has its path: the socket is untouched
   */
  dispatch(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const path = this.#mount.below(request.url ?? '');
    const [plain] = path?.split('?') ?? [];
    if (path === null || plain === undefined) return false;
    const endpoint = this.#endpoints.find(({ matches }) => matches(plain));
    if (endpoint === undefined) return false;
    socket.on('error', () => socket.destroy());
    this.#mount.keep(socket);
    try {
      this.#passes.admit(request, path);
      endpoint.take({ request, path, socket, head });
    } catch (error) {
      refuseUpgrade(socket, error instanceof ParleyError ? error : new ParleyError('INTERNAL'));
    }
    return true;
  }

  /** Whether an endpoint has the path of this URL. */
  has(url: string): boolean {
    const [plain] = this.#mount.below(url)?.split('?') ?? [];
    return plain !== undefined && this.#endpoints.some(({ matches }) => matches(plain));
  }

  /** @param matches whether a path, without its query, belongs to the endpoint */
  at(matches: (path: string) => boolean, take: (upgrade: Upgrade) => void): void {
    this.#endpoints.push({ matches, take });
  }
}

/** Answers a request that does not reach the routes with an error. */
export function refuseRequest(response: ServerResponse, { httpStatus, message, code }: ParleyError): void {
  response.writeHead(httpStatus, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ detail: message, code }));
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

const PING_MS = 20_000;

/** Disconnects a client that answers neither of two pings and sends nothing else. Returns a function that ends this. */
export function pingClient(ws: WebSocket, clock: Clock): Cancel {
  let unanswered = 0;
  let cancel: Cancel = () => undefined;
  const heard = (): void => void (unanswered = 0);
  ws.on('pong', heard).on('message', heard);
  const next = (): void => {
    cancel = clock.schedule(clock.nowMs() + PING_MS, () => {
      if (unanswered >= 2) {
        ws.terminate();
        return;
      }
      unanswered++;
      if (ws.readyState === ws.OPEN) ws.ping();
      next();
    });
  };
  next();
  return () => cancel();
}
