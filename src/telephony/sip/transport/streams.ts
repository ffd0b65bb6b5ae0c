import { connect as connectPlainly, createServer, isIPv6, type Server, type Socket } from 'node:net';
import { connect as connectSecurely, createServer as createTlsServer, type SecureContextOptions } from 'node:tls';
import type { Clock } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { type Hop, hopText } from '../hop.js';
import { Connection } from './connection.js';
import { type Listening, plainAddress, type TransportEvents } from './transport.js';

export interface TlsOptions {
  /** Own certificate and key; without them TLS only works for outgoing connections. */
  own?: SecureContextOptions | undefined;
  /** PEM of trusted authorities, in place of the well-known ones. */
  ca?: string | Buffer | undefined;
  /** Whether to verify the other side. Default true. */
  verify?: boolean;
  /** The expected TLS name of a server, by its address. */
  nameOf?: (hop: Hop) => string | undefined;
}

export interface StreamsOptions {
  clock: Clock;
  events: TransportEvents;
  /** Whose connections are accepted. */
  isTrusted: (hop: Hop) => boolean;
  tls?: TlsOptions;
  /** Maximum number of connections. Default 500. */
  most?: number;
}

/** Deadline of a TLS handshake. */
const HANDSHAKE_MS = 5000;

/** All connections, TCP and TLS, incoming and outgoing. */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #servers: { server: Server; listening: Listening }[] = [];
  readonly #connections = new Map<string, Connection>();
  #isClosed = false;

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#connections.size;
  }

  /**
   * @param over index among the listening sockets
   * @throws ParleyError SIP_CANNOT_LISTEN
   */
  async listen(listening: Listening, over = 0): Promise<Listening> {
    const { protocol, address, port } = listening;
    const { tls } = this.#options;
    const taken = (socket: Socket): void => this.#taken(socket, protocol, over);
    const server =
      protocol === 'TLS'
        ? createTlsServer({ ...tls?.own, handshakeTimeout: HANDSHAKE_MS, minVersion: 'TLSv1.2' }, taken)
        : createServer(taken);
    server.on('tlsClientError', () => this.#options.events.onRefused('handshake'));
    server.maxConnections = this.#options.most ?? 500;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        const where = hopText({ protocol, address, port });
        reject(new ParleyError('SIP_CANNOT_LISTEN', { where, reason: reasonOf(error) }, { cause: error }));
      });
      server.listen({ host: address, port, ipv6Only: isIPv6(address) }, resolve);
    });
    server.removeAllListeners('error');
    server.on('error', () => undefined);
    const bound = server.address();
    const opened = { ...listening, port: typeof bound === 'object' && bound !== null ? bound.port : port };
    this.#servers.push({ server, listening: opened });
    return opened;
  }

  isOpen(hop: Hop): boolean {
    return this.#connections.has(hopText(hop));
  }

  send(bytes: Uint8Array, to: Hop): void {
    if (this.#isClosed) return;
    (this.#connections.get(hopText(to)) ?? this.#connect(to)).send(bytes);
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of Array.from(this.#connections.values())) connection.close();
    await Promise.all(
      this.#servers.splice(0).map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve()))),
    );
  }

  #connect(to: Hop): Connection {
    const { tls } = this.#options;
    const { address: host, port } = to;
    const secure = to.protocol === 'TLS';
    const name = tls?.nameOf?.(to);
    const socket = secure
      ? connectSecurely({
          ...tls?.own,
          host,
          port,
          minVersion: 'TLSv1.2',
          rejectUnauthorized: tls?.verify !== false,
          ca: tls?.ca,
          servername: name,
        })
      : connectPlainly({ host, port });
    return this.#add(socket, to, false, secure ? 'secureConnect' : 'connect');
  }

  #taken(socket: Socket, protocol: Hop['protocol'], over: number): void {
    const { isTrusted, events, most = 500 } = this.#options;
    const { remoteAddress = '', remotePort: port = 0 } = socket;
    const hop: Hop = { protocol, address: plainAddress(remoteAddress), port, over };
    const refusal =
      this.#isClosed || this.#connections.size >= most ? 'connections' : !isTrusted(hop) ? 'stranger' : null;
    if (refusal === null) {
      this.#add(socket, hop, true);
      return;
    }
    events.onRefused(refusal);
    socket.on('error', () => undefined);
    socket.destroy();
  }

  #add(socket: Socket, hop: Hop, isOpen: boolean, openEvent?: string): Connection {
    const { clock, events } = this.#options;
    const key = hopText(hop);
    const connection: Connection = new Connection({
      clock,
      socket,
      hop,
      isOpen,
      events,
      openEvent,
      onClosed: () => {
        if (this.#connections.get(key) === connection) this.#connections.delete(key);
        if (!this.#isClosed) events.onFailed(hop);
      },
    });
    this.#connections.set(key, connection);
    return connection;
  }
}
