import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createSocket, type Socket } from 'node:dgram';
import { type Hop, hopText } from '../hop.js';
import { Streams, type StreamsOptions } from './streams.js';
import { type Listening, type Place, plainAddress, type SipTransport, type TransportEvents } from './transport.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';

/** Receive buffer for bursts of calls, in bytes. */
const RECEIVE_BYTES = 1_048_576;

/** One UDP socket. */
export class UdpSocket {
  readonly address: string;
  readonly port: number;
  readonly over: number;
  readonly #socket: Socket;
  readonly #events: TransportEvents;
  #isClosed = false;

  private constructor(socket: Socket, events: TransportEvents, over: number) {
    const { address, port } = socket.address();
    this.address = address;
    this.port = port;
    this.over = over;
    this.#socket = socket;
    this.#events = events;
    socket.on('message', (bytes, { address: from, port: fromPort }) => {
      if (this.#isClosed) return;
      events.onMessage(bytes, { protocol: 'UDP', address: plainAddress(from), port: fromPort, over });
    });
    // For single datagrams, whose senders have timers.
    socket.on('error', () => undefined);
  }

  /**
   * @param over index among the listening sockets
   * @throws ParleyError SIP_CANNOT_LISTEN
   */
  static async open({ address, port }: Listening, events: TransportEvents, over = 0): Promise<UdpSocket> {
    const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', recvBufferSize: RECEIVE_BYTES });
    await new Promise<void>((resolve, reject) => {
      socket.once('error', (error) => {
        socket.close();
        const where = hopText({ protocol: 'UDP', address, port });
        reject(new ParleyError('SIP_CANNOT_LISTEN', { where, reason: reasonOf(error) }, { cause: error }));
      });
      socket.bind(port, address, resolve);
    });
    socket.removeAllListeners('error');
    return new UdpSocket(socket, events, over);
  }

  get isIPv6(): boolean {
    return isIPv6(this.address);
  }

  send(bytes: Uint8Array, to: Hop): void {
    if (this.#isClosed) return;
    this.#socket.send(bytes, to.port, to.address, (error) => {
      if (error !== null && !this.#isClosed) this.#events.onFailed(to);
    });
  }

  /** May be called twice. */
  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }
}

export interface SocketsOptions extends StreamsOptions {
  /** Listening sockets; a protocol without one only has outgoing connections. */
  listen: readonly Listening[];
  /** The public address, if it differs from the socket's: behind NAT. */
  advertisedAddress?: string | undefined;
}

const DEFAULT_PORT = 5060;

/** The system's sockets of one user agent. */
export class Sockets implements SipTransport {
  /** With the actual ports. */
  readonly listening: readonly Listening[];
  readonly #options: SocketsOptions;
  readonly #udp: readonly UdpSocket[];
  readonly #streams: Streams;

  private constructor(options: SocketsOptions, udp: readonly UdpSocket[], streams: Streams, listening: Listening[]) {
    this.#options = options;
    this.#udp = udp;
    this.#streams = streams;
    this.listening = listening;
  }

  /** @throws ParleyError SIP_CANNOT_LISTEN */
  static async open(options: SocketsOptions): Promise<Sockets> {
    const streams = new Streams(options);
    const udp: UdpSocket[] = [];
    const listening: Listening[] = [];
    const { isTrusted, events } = options;
    const sifted = {
      ...events,
      onMessage: (bytes: Uint8Array, from: Hop) => {
        if (isTrusted(from)) events.onMessage(bytes, from);
        else events.onRefused('stranger');
      },
    };
    try {
      for (const [over, place] of options.listen.entries()) {
        if (place.protocol === 'UDP') {
          const socket = await UdpSocket.open(place, sifted, over);
          udp.push(socket);
          listening.push({ ...place, port: socket.port });
        } else listening.push(await streams.listen(place, over));
      }
    } catch (error) {
      await Promise.all([...udp.map((socket) => socket.close()), streams.close()]);
      throw error;
    }
    return new Sockets(options, udp, streams, listening);
  }

  send(bytes: Uint8Array, to: Hop): void {
    if (to.protocol !== 'UDP') {
      this.#streams.send(bytes, to);
      return;
    }
    const fitting = this.#udp.filter((one) => one.isIPv6 === isIPv6(to.address));
    const socket = fitting.find(({ over }) => over === to.over) ?? fitting[0];
    if (socket !== undefined) socket.send(bytes, to);
    else queueMicrotask(() => this.#options.events.onFailed(to));
  }

  localPlace(to: Hop): Place {
    const v6 = isIPv6(to.address);
    const isFitting = (one: Listening | undefined): boolean =>
      one?.protocol === to.protocol && isIPv6(one.address) === v6;
    const asked = to.over === undefined ? undefined : this.listening[to.over];
    const own = isFitting(asked) ? asked : this.listening.find(isFitting);
    const advertised = this.#options.advertisedAddress;
    const host =
      advertised !== undefined && isIPv6(advertised) === v6 ? advertised : ownAddress(own?.address ?? '', to.address);
    // Without a listening socket, outgoing connections are used: media follow the address family.
    const bound = own?.address ?? this.listening.find(({ address }) => isIPv6(address) === v6)?.address;
    return { host, port: own?.port ?? DEFAULT_PORT, bound: bound ?? (v6 ? '::' : '0.0.0.0') };
  }

  isOpen(hop: Hop): boolean {
    return hop.protocol === 'UDP' || this.#streams.isOpen(hop);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#udp.map((socket) => socket.close()), this.#streams.close()]);
  }
}

/** For a socket that listens on all addresses: a local address of the other side's kind. */
function ownAddress(bound: string, remote: string): string {
  if (bound !== '' && bound !== '0.0.0.0' && bound !== '::') return plainAddress(bound);
  const v6 = isIPv6(remote);
  const isLoopback = v6 ? remote === '::1' : remote.startsWith('127.');
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const fitting = all.find(({ family, internal }) => (family === 'IPv6') === v6 && internal === isLoopback);
  return fitting?.address ?? (v6 ? '::1' : '127.0.0.1');
}
