import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { gather } from '../../base/gathering.js';
import { nativeUdp, type NativeUdp } from '../../base/native.js';

/** Maximum number of datagrams of one turn of the event loop; the rest come in the next turn. */
const ARRIVALS = 256;
const FIELDS = 5;
const INBOX_BYTES = 262_144;
const PLACE = 0xffff;

/** The sockets of the native addon; null without it. All sockets of a thread share one receive buffer. */
export function nativeSockets(): OpenSocket | null {
  const udp = nativeUdp();
  if (udp === null) return null;
  let post: PostOffice | null = null;
  return (address, port) =>
    new Promise((resolve) => {
      post ??= new PostOffice(udp);
      resolve(post.open(address, port));
    });
}

/** Dispatches received datagrams to their sockets. */
class PostOffice {
  readonly #udp: NativeUdp;
  readonly #bytes = new Uint8Array(INBOX_BYTES);
  readonly #arrivals = new Int32Array(ARRIVALS * FIELDS);
  /** Views of the last datagrams: the next ones usually have the same offsets. */
  readonly #views: Uint8Array[] = Array.from({ length: ARRIVALS }, () => this.#bytes.subarray(0, 0));
  /** By the lower half of their ids, which are reused; the upper half makes them unique. */
  readonly #sockets: (NativeSocket | undefined)[] = [];
  readonly #inbox: number;

  constructor(udp: NativeUdp) {
    this.#udp = udp;
    this.#inbox = udp.udpStart(this.#bytes, this.#arrivals, (count) => gather(() => this.#deliver(count)));
  }

  open(address: string, port: number): DatagramSocket {
    const udp = this.#udp;
    const id = udp.udpOpen(this.#inbox, address, port);
    const socket = new NativeSocket(udp, id, () => (this.#sockets[id & PLACE] = undefined));
    this.#sockets[id & PLACE] = socket;
    return socket;
  }

  #deliver(count: number): void {
    const arrivals = this.#arrivals;
    for (let n = 0; n < count; n++) {
      const at = n * FIELDS;
      // An earlier listener of this turn may have closed it.
      const id = arrivals[at]!;
      const socket = this.#sockets[id & PLACE];
      if (socket?.id !== id) continue;
      if (arrivals[at + 4] !== 0) socket.comesFrom(this.#udp.udpSource(this.#inbox, n), arrivals[at + 3]!);
      try {
        socket.hear(this.#view(n, arrivals[at + 1]!, arrivals[at + 2]!));
      } catch (error) {
        // Reports the error outside of this dispatch.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  #view(n: number, from: number, length: number): Uint8Array {
    const view = this.#views[n]!;
    if (view.byteOffset === from && view.length === length) return view;
    return (this.#views[n] = this.#bytes.subarray(from, from + length));
  }
}

class NativeSocket implements DatagramSocket {
  readonly port: number;
  readonly id: number;
  readonly #udp: NativeUdp;
  readonly #onClose: () => void;
  #onDatagram: OnDatagram | null = null;
  /** Address of the last sender. */
  #fromAddress = '';
  #fromPort = 0;
  /** Address of the last recipient. */
  #toAddress = '';
  #toPort = 0;
  #isOpen = true;

  constructor(udp: NativeUdp, id: number, onClose: () => void) {
    this.port = udp.udpPort(id);
    this.#udp = udp;
    this.id = id;
    this.#onClose = onClose;
  }

  listen(onDatagram: OnDatagram): void {
    this.#onDatagram = onDatagram;
    this.#udp.udpListen(this.id);
  }

  send(datagram: Uint8Array, address: string, port: number): void {
    if (!this.#isOpen || !(port > 0 && port < 65_536)) return;
    if (port !== this.#toPort || address !== this.#toAddress) {
      [this.#toAddress, this.#toPort] = [address, port];
      this.#udp.udpAim(this.id, address, port);
    }
    this.#udp.udpSend(this.id, datagram);
  }

  close(): Promise<void> {
    if (this.#isOpen) {
      this.#isOpen = false;
      this.#onDatagram = null;
      this.#onClose();
      this.#udp.udpClose(this.id);
    }
    return Promise.resolve();
  }

  comesFrom(address: string, port: number): void {
    this.#fromAddress = address;
    this.#fromPort = port;
  }

  hear(datagram: Uint8Array): void {
    this.#onDatagram?.(datagram, this.#fromAddress, this.#fromPort);
  }
}

/** Receives a datagram, which is overwritten afterwards: copy what must last. */
export type OnDatagram = (datagram: Uint8Array, address: string, port: number) => void;

/** A UDP socket for media. */
export interface DatagramSocket {
  readonly port: number;
  /** Called for each datagram, with at most 4 kB of it; one listener. Earlier datagrams may be delivered or not. */
  listen(onDatagram: OnDatagram): void;
  /** Never throws; a datagram that cannot be sent is lost. It may be overwritten afterwards. */
  send(datagram: Uint8Array, address: string, port: number): void;
  /** May be called twice. */
  close(): Promise<void>;
}

/** @param port 0 = any. Rejects with the system's error, such as EADDRINUSE. */
export type OpenSocket = (address: string, port: number) => Promise<DatagramSocket>;

/** A second of audio from a peer that sends in bursts. */
const RECEIVE_BUFFER_BYTES = 262_144;
const MAPPED_IPV4 = '::ffff:';

/** A socket of the native addon, otherwise of Node. */
export const openUdpSocket: OpenSocket = nativeSockets() ?? openNodeSocket;

/** Node's socket: it allocates a buffer and an address for each datagram, and takes twice the processor time. */
export async function openNodeSocket(address: string, port: number): Promise<DatagramSocket> {
  const isV6 = isIP(address) === 6;
  const socket = createSocket({
    type: isV6 ? 'udp6' : 'udp4',
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    // Destinations are always addresses: no lookup, and no wait for one.
    lookup: (to, _options, callback) => callback(null, to, isV6 ? 6 : 4),
  });
  // Before `bind`, which may complete at once without a lookup.
  const listening = once(socket, 'listening');
  socket.bind(port, address);
  try {
    await listening;
  } catch (error) {
    socket.close();
    throw error;
  }
  // An unreachable address is reported here; for media it is a lost packet.
  socket.on('error', () => undefined);
  let isOpen = true;
  return {
    port: socket.address().port,
    listen: (onDatagram) => {
      socket.on('message', (datagram, from) => onDatagram(datagram, plain(from.address), from.port));
    },
    send: (datagram, to, toPort) => {
      // With a callback errors are not thrown, except for invalid ports.
      if (isOpen && toPort > 0 && toPort < 65_536)
        socket.send(Uint8Array.from(datagram), toPort, isV6 && isIP(to) === 4 ? `${MAPPED_IPV4}${to}` : to, ignore);
    },
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

/** Sockets of both families get IPv4 addresses as IPv4-mapped IPv6. */
function plain(address: string): string {
  return address.startsWith(MAPPED_IPV4) ? address.slice(MAPPED_IPV4.length) : address;
}

function ignore(): void {
  // A datagram that cannot be sent is lost.
}
