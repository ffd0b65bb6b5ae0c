import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Cancel, Clock } from '../../../src/base/clock.js';
import { Random } from '../../../src/base/random.js';

export interface Badness {
  /** Share of packets that never arrive, 0..1. */
  loss: number;
  /** Each is held up by 0 to so much. */
  jitterMs: number;
}

/** A way through UDP between two ends in this process that is as bad as it is asked to be, both ways. */
export class BadNetwork {
  passed = 0;
  dropped = 0;
  readonly #sockets: Socket[] = [];
  readonly #held = new Set<Cancel>();
  readonly #random: Random;
  readonly #clock: Clock;
  #badness: Badness = { loss: 0, jitterMs: 0 };

  constructor(seed: number, clock: Clock) {
    this.#random = new Random(seed);
    this.#clock = clock;
  }

  /** From now on. */
  become(badness: Badness): void {
    this.#badness = badness;
  }

  /**
   * What an end learns of the other one: that it is behind this network, and nowhere else.
   * @param sdp the other end's, with its candidates
   */
  async before(sdp: string): Promise<string> {
    const host = /^a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+) typ host/m;
    const port = host.exec(sdp)?.[1];
    if (port === undefined) throw new Error('no candidate on loopback');
    const entrance = await this.#entranceTo(Number(port));
    return sdp
      .split('\r\n')
      .filter((line) => !line.startsWith('a=candidate:') || host.test(line))
      .map((line) => line.replace(`127.0.0.1 ${port} typ`, `127.0.0.1 ${String(entrance)} typ`))
      .join('\r\n');
  }

  close(): void {
    for (const cancel of this.#held) cancel();
    for (const socket of this.#sockets.splice(0)) socket.close();
  }

  /** A port whose packets come to `port`, and whose answers go back to where they came from. */
  async #entranceTo(port: number): Promise<number> {
    const [outside, inside] = [await this.#socket(), await this.#socket()];
    let from: AddressInfo | null = null;
    outside.on('message', (packet, remote) => {
      from = remote as unknown as AddressInfo;
      this.#pass(() => inside.send(packet, port, '127.0.0.1'));
    });
    inside.on('message', (packet) => {
      const to = from;
      if (to !== null) this.#pass(() => outside.send(packet, to.port, to.address));
    });
    return outside.address().port;
  }

  async #socket(): Promise<Socket> {
    const socket = createSocket('udp4');
    this.#sockets.push(socket);
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return socket;
  }

  #pass(send: () => void): void {
    const { loss, jitterMs } = this.#badness;
    if (this.#random.chance(loss)) {
      this.dropped++;
      return;
    }
    this.passed++;
    const atMs = this.#clock.nowMs() + this.#random.next() * jitterMs;
    const cancel = this.#clock.schedule(atMs, () => {
      this.#held.delete(cancel);
      send();
    });
    this.#held.add(cancel);
  }
}
