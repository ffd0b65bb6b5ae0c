import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { ParleyError, reasonOf } from '../../errors.js';
import { type Hop, hopText } from '../hop.js';
import { type Listening, plainAddress, type TransportEvents } from './transport.js';

/** Bytes that the system keeps for us: bursts of calls come at once. */
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
    // Of single datagrams: whoever waits for an answer has a timer.
    socket.on('error', () => undefined);
  }

  /**
   * @param over its place in the list of those that listen
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
