import { type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';
import { parseWith } from '../../schema/issues.js';
import { fromText } from '../../schema/text.js';
import { type Access, bearer, checkScope } from '../http/access.js';
import type { Clients } from '../http/clients.js';
import type { Forwarder } from '../http/forwarder.js';
import type { NodePasses } from '../http/node-pass.js';
import { payerOf, type RateLimit } from '../http/rate-limit.js';
import { pingClient, SocketPlaces, type Upgrade, type Upgrades } from '../http/upgrades.js';
import type { StoredKey } from '../../store/keys.js';
import type { CallOwners } from '../nodes/call-owners.js';

export interface LiveSocketsOptions {
  upgrades: Upgrades;
  access: Pick<Access, 'keyWith'>;
  clients: Clients;
  requests: RateLimit;
  passes: Pick<NodePasses, 'has'>;
  forwarder: Pick<Forwarder, 'pipe'>;
  owners: Pick<CallOwners, 'ofRunning'>;
  clock: Clock;
  /** Maximum of open sockets of one address. */
  socketsPerAddress: number;
  onError: (error: Error) => void;
}

/** An open socket about a session, whose client has a private key for calls. */
export interface LiveSocket {
  ws: WebSocket;
  sessionId: string;
  /** The client's key. */
  key: StoredKey;
  /** Aborts when the client has left. */
  left: AbortSignal;
}

/** One kind of socket. */
export interface LiveEndpoint<Query extends z.ZodRawShape> {
  path: RegExp;
  query: Query;
  /** Before the socket opens. @throws ParleyError that refuses it */
  admit: (sessionId: string, query: z.output<z.ZodObject<Query>>) => Promise<void>;
  /** What it rejects with closes the socket. */
  serve: (socket: LiveSocket, query: z.output<z.ZodObject<Query>>) => Promise<void> | void;
}

const MAX_MESSAGE_BYTES = 262_144;
/** Deadline for the client to answer the close. */
const CLOSE_TIMEOUT_MS = 2_000;
const PROTOCOL = 'parley';
/** How a browser, which cannot set headers, gives its key: as base64url in a second protocol. */
const KEY_PROTOCOL = 'parley-key.';

/** WebSockets about running sessions, for holders of private keys. The node of the session answers. */
export class LiveSockets {
  readonly #options: LiveSocketsOptions;
  readonly #places: SocketPlaces;
  readonly #open = new Set<WebSocket>();
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
  });

  constructor(options: LiveSocketsOptions) {
    this.#options = options;
    this.#places = new SocketPlaces(options.socketsPerAddress);
  }

  /** Adds a kind of socket. The first group of `path` is the id of the session. */
  at<Query extends z.ZodRawShape>(endpoint: LiveEndpoint<Query>): void {
    this.#options.upgrades.at(
      (path) => endpoint.path.test(path),
      (upgrade) => void this.#onUpgrade(endpoint, upgrade),
    );
  }

  /** Disconnects all clients. May be called twice. */
  close(): void {
    for (const ws of this.#open) this.end(ws, 1001, 'the daemon is closing');
    this.#server.close();
  }

  async #onUpgrade<Query extends z.ZodRawShape>(endpoint: LiveEndpoint<Query>, upgrade: Upgrade): Promise<void> {
    const { clients, requests, passes, forwarder, owners, onError } = this.#options;
    const { request, path, socket, head } = upgrade;
    try {
      const [plain = '', search = ''] = path.split('?');
      const sessionId = decoded(endpoint.path.exec(plain)?.[1] ?? '');
      const { address } = clients.of(request);
      const given = this.#keyOf(upgrade);
      // The node that passed it on has counted it.
      if (!passes.has(request)) requests.take(payerOf(address, given));
      const key = checked(given);
      const query = queryOf(endpoint.query, search);
      const owner = await owners.ofRunning(sessionId);
      if (owner !== null && (await forwarder.pipe(owner, upgrade))) return;
      await endpoint.admit(sessionId, query);
      if (socket.destroyed) return;
      socket.once('close', this.#places.enter(address));
      this.#server.handleUpgrade(request, socket, head, (ws) => {
        const serve = async (): Promise<void> => endpoint.serve({ ws, sessionId, key, left: this.#watch(ws) }, query);
        serve().catch((error: unknown) => {
          const known = error instanceof ParleyError ? error : new ParleyError('INTERNAL');
          if (known !== error) onError(errorOf(error));
          this.end(ws, 1008, `${known.code}: ${known.message}`);
        });
      });
    } catch (error) {
      if (!(error instanceof ParleyError)) onError(errorOf(error));
      refuseUpgrade(socket, error instanceof ParleyError ? error : new ParleyError('INTERNAL'));
    }
  }

  #keyOf({ request }: Upgrade): StoredKey | null {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((part) => part.trim());
    const given = offered.find((part) => part.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
    const text =
      given === undefined ? bearer(request.headers.authorization) : Buffer.from(given, 'base64url').toString();
    return this.#options.access.keyWith(text);
  }

  /** Keeps a socket until its client has left. @returns aborts then */
  #watch(ws: WebSocket): AbortSignal {
    const leaving = new AbortController();
    const stopPings = pingClient(ws, this.#options.clock);
    this.#open.add(ws);
    ws.on('error', () => undefined); // a close always follows
    ws.once('close', () => {
      stopPings();
      this.#open.delete(ws);
      leaving.abort();
    });
    return leaving.signal;
  }

  /** Ends a socket in order, or cuts it off if its client does not answer. */
  end(ws: WebSocket, code: number, reason: string): void {
    if (ws.readyState !== ws.OPEN) return;
    const { clock } = this.#options;
    const cancel = clock.schedule(clock.nowMs() + CLOSE_TIMEOUT_MS, () => ws.terminate());
    ws.once('close', cancel);
    ws.close(code, reason.slice(0, 120));
  }
}

/** An id in a path. What cannot be decoded is the id of nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN, AUTH_SCOPE */
function checked(key: StoredKey | null): StoredKey {
  if (key === null) throw new ParleyError('AUTH_REQUIRED');
  if (key.kind !== 'private') throw new ParleyError('AUTH_FORBIDDEN', { reason: 'it is a public key' });
  checkScope(key, 'calls');
  return key;
}

/** @throws InvalidConfigError */
function queryOf<Query extends z.ZodRawShape>(shape: Query, search: string): z.output<z.ZodObject<Query>> {
  const given = Object.fromEntries(
    Array.from(new URLSearchParams(search), ([name, value]) => {
      const schema = shape[name];
      return [name, schema === undefined ? value : fromText(value, schema as z.ZodType)];
    }),
  );
  return parseWith(z.strictObject(shape), given, ['query']) as z.output<z.ZodObject<Query>>;
}
