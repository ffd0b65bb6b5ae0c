import type { Clock } from '../../../src/base/clock.js';
import { Random } from '../../../src/base/random.js';
import { isRtcp } from '../../../src/transports/rtp/packet.js';
import type { DatagramSocket, OpenSocket } from '../../../src/transports/rtp/socket.js';

export interface NetworkQuality {
  /** Share of datagrams that never come. */
  loss?: number;
  delayMs?: number;
  /** Datagrams come later by up to so much, evenly spread: they overtake each other. */
  jitterMs?: number;
  /** Share that comes twice. */
  duplicated?: number;
}

type OnDatagram = (datagram: Uint8Array, address: string, port: number) => void;

/** UDP inside the process, at the clock's pace, as bad as is wanted and the same for the same seed. */
export class UdpNetwork {
  /** Every datagram that was sent. */
  readonly sent: { from: string; to: string; datagram: Uint8Array }[] = [];
  quality: NetworkQuality;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Reports go out at times of chance: what becomes of them must not decide what becomes of the sound. */
  readonly #chanceOfReports = new Random(2);
  readonly #sockets = new Map<string, OnDatagram>();
  #next = 40_000;

  constructor(clock: Clock, random: Random, quality: NetworkQuality = {}) {
    this.#clock = clock;
    this.#random = random;
    this.quality = quality;
  }

  readonly open: OpenSocket = (address, wanted) => {
    const port = wanted === 0 ? this.#next++ : wanted;
    const place = `${address}:${String(port)}`;
    if (this.#sockets.has(place)) {
      return Promise.reject(Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));
    }
    this.#sockets.set(place, () => undefined);
    const socket: DatagramSocket = {
      port,
      listen: (onDatagram) => this.#sockets.set(place, onDatagram),
      send: (datagram, to, toPort) => this.send(datagram, { address, port }, { address: to, port: toPort }),
      close: () => {
        this.#sockets.delete(place);
        return Promise.resolve();
      },
    };
    return Promise.resolve(socket);
  };

  /** From anywhere: nobody checks a sender's address. */
  send(datagram: Uint8Array, from: { address: string; port: number }, to: { address: string; port: number }): void {
    const { loss = 0, delayMs = 0, jitterMs = 0, duplicated = 0 } = this.quality;
    const [sender, place] = [`${from.address}:${String(from.port)}`, `${to.address}:${String(to.port)}`];
    // Copies: what is sent is overwritten by the next packet.
    this.sent.push({ from: sender, to: place, datagram: Uint8Array.from(datagram) });
    const random = isRtcp(datagram) ? this.#chanceOfReports : this.#random;
    const copies = random.chance(loss) ? 0 : random.chance(duplicated) ? 2 : 1;
    for (let n = 0; n < copies; n++) {
      const atMs = this.#clock.nowMs() + delayMs + random.next() * jitterMs;
      const copy = Uint8Array.from(datagram);
      this.#clock.schedule(atMs, () => this.#sockets.get(place)?.(copy, from.address, from.port));
    }
  }
}
