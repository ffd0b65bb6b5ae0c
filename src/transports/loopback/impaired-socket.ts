import type { Clock } from '../../base/clock.js';
import type { Random } from '../../base/random.js';
import type { DatagramSocket, OnDatagram } from '../rtp/socket.js';

export interface Impairment {
  /** Share of lost datagrams, 0 to 1. */
  loss: number;
  /** Delay of each datagram, in milliseconds. */
  delayMs: number;
  /** Additional delay, uniformly distributed from 0; datagrams may overtake each other. */
  jitterMs: number;
}

/** A socket with a bad network in both directions. */
export function impairedSocket(
  socket: DatagramSocket,
  { loss, delayMs, jitterMs }: Impairment,
  clock: Clock,
  random: Pick<Random, 'next'>,
): DatagramSocket {
  let isOpen = true;
  const pass = (datagram: Uint8Array, deliver: (copy: Uint8Array) => void): void => {
    // Both are drawn for each datagram, so that a seed loses the same ones with and without jitter.
    const [isLost, waitMs] = [random.next() < loss, delayMs + random.next() * jitterMs];
    if (isLost) return;
    const copy = datagram.slice();
    if (waitMs === 0) deliver(copy);
    else clock.schedule(clock.nowMs() + waitMs, () => isOpen && deliver(copy));
  };
  return {
    port: socket.port,
    send: (datagram, address, port) => pass(datagram, (copy) => socket.send(copy, address, port)),
    listen: (onDatagram: OnDatagram) =>
      socket.listen((datagram, address, port) => pass(datagram, (copy) => onDatagram(copy, address, port))),
    close: () => {
      isOpen = false;
      return socket.close();
    },
  };
}
