import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { nativeSockets } from './native-socket.js';

/** Hears a datagram, which is overwritten when it returns: what is to last is copied. */
export type OnDatagram = (datagram: Uint8Array, address: string, port: number) => void;

/** A UDP socket, as far as media need one. */
export interface DatagramSocket {
  readonly port: number;
  /** Called for each datagram, of which 4 kB are heard; one listener. What came before it may be heard or not. */
  listen(onDatagram: OnDatagram): void;
  /** Never throws; what cannot be sent is lost, as datagrams are. The datagram may be overwritten afterwards. */
  send(datagram: Uint8Array, address: string, port: number): void;
  /** May be called twice. */
  close(): Promise<void>;
}

/** @param port 0 = any. Rejects with the system's error, EADDRINUSE for one. */
export type OpenSocket = (address: string, port: number) => Promise<DatagramSocket>;

/** A second of sound of a peer that sends in bursts. */
const RECEIVE_BUFFER_BYTES = 262_144;
const MAPPED_IPV4 = '::ffff:';

/** A socket of the native addon, and where there is none of Node's. */
export const openUdpSocket: OpenSocket = nativeSockets() ?? openNodeSocket;

/** Node's own: it allocates a buffer and an address for each datagram, and takes twice the processor time. */
export async function openNodeSocket(address: string, port: number): Promise<DatagramSocket> {
  const isV6 = isIP(address) === 6;
  const socket = createSocket({
    ...{ type: isV6 ? 'udp6' : 'udp4', recvBufferSize: RECEIVE_BUFFER_BYTES },
    // All that is sent to are addresses: nothing is looked up, and nothing waits for a look-up.
    lookup: (to, _options, callback) => callback(null, to, isV6 ? 6 : 4),
  });
  // Asked for before: with nothing to look up, the socket may listen at once.
  const listening = once(socket, 'listening');
  socket.bind(port, address);
  try {
    await listening;
  } catch (error) {
    socket.close();
    throw error;
  }
  // An address that cannot be reached is reported here: to media it is a packet that was lost.
  socket.on('error', () => undefined);
  let isOpen = true;
  return {
    port: socket.address().port,
    listen: (onDatagram) => {
      socket.on('message', (datagram, from) => onDatagram(datagram, plain(from.address), from.port));
    },
    send: (datagram, to, toPort) => {
      // The callback takes the error, which would be thrown else; ports that are none are thrown nevertheless.
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

/** IPv4 addresses come to sockets of both families in IPv6's clothes. */
function plain(address: string): string {
  return address.startsWith(MAPPED_IPV4) ? address.slice(MAPPED_IPV4.length) : address;
}

function ignore(): void {
  // What could not be sent is lost.
}
