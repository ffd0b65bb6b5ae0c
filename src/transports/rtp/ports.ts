import { randomInt } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import { type DatagramSocket, type OpenSocket, openUdpSocket } from './socket.js';

export interface RtpPortsOptions {
  clock: Clock;
  /** Local address of the sockets, IPv4 or IPv6. `0.0.0.0` and `::` are all. */
  localAddress: string;
  /** Ports to use, inclusive. Null: any that the system gives. Default 16384 to 32767. */
  portRange?: readonly [number, number] | null;
  /** How long a port is unused after its call, so that late packets do not reach another call. Default 20 s. */
  drainMs?: number;
  /** Default: the system's sockets. */
  openSocket?: OpenSocket;
}

/** The sockets of a call: RTP on an even port, RTCP on the next one (RFC 3550, 11). */
export interface PortPair {
  readonly rtp: DatagramSocket;
  readonly rtcp: DatagramSocket;
  /** May be called twice. The ports rest afterwards. */
  close(): Promise<void>;
}

const DEFAULT_RANGE = [16_384, 32_767] as const;
/** Number of ports in a row that other programs may use before opening fails. */
const MAX_TRIES = 64;

/** The media ports of an address, shared by all calls. The choice of ports is unpredictable from outside. */
export class RtpPorts {
  readonly localAddress: string;
  readonly #clock: Clock;
  readonly #range: readonly [number, number] | null;
  readonly #drainMs: number;
  readonly #open: OpenSocket;
  readonly #taken = new Set<number>();
  /** Times at which resting ports become available. */
  readonly #resting = new Map<number, number>();

  constructor(options: RtpPortsOptions) {
    this.localAddress = options.localAddress;
    this.#clock = options.clock;
    const [first, last] = options.portRange ?? DEFAULT_RANGE;
    this.#range = options.portRange === null ? null : [first + (first % 2), last];
    this.#drainMs = options.drainMs ?? 20_000;
    this.#open = options.openSocket ?? openUdpSocket;
  }

  /** Number of calls with ports. */
  get inUse(): number {
    return this.#taken.size;
  }

  /**
   * @param openSocket for this call; default: that of the options
   * @throws ParleyError RTP_PORTS_FULL if none is free; the system's error if the address is not local
   */
  async open(openSocket: OpenSocket = this.#open): Promise<PortPair> {
    if (this.#range === null) return this.#openAny(openSocket);
    const [first, last] = this.#range;
    const pairs = Math.floor((last - first + 1) / 2);
    const start = pairs > 0 ? randomInt(pairs) : 0;
    for (let n = 0, tries = 0; n < pairs && tries < MAX_TRIES; n++) {
      const port = first + ((start + n) % pairs) * 2;
      if (!this.#isFree(port)) continue;
      tries++;
      const pair = await this.#tryOpen(port, openSocket);
      if (pair !== null) return pair;
    }
    throw new ParleyError('RTP_PORTS_FULL', { range: `${String(first)}-${String(last)}` });
  }

  async #openAny(openSocket: OpenSocket): Promise<PortPair> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const probe = await openSocket(this.localAddress, 0);
      const { port } = probe;
      await probe.close();
      if (port % 2 !== 0 || !this.#isFree(port)) continue;
      const pair = await this.#tryOpen(port, openSocket);
      if (pair !== null) return pair;
    }
    throw new ParleyError('RTP_PORTS_FULL', { range: 'any' });
  }

  #isFree(port: number): boolean {
    if (this.#taken.has(port)) return false;
    const atMs = this.#resting.get(port);
    if (atMs !== undefined && atMs > this.#clock.nowMs()) return false;
    this.#resting.delete(port);
    return true;
  }

  /** Null if another program uses one of the two. */
  async #tryOpen(port: number, openSocket: OpenSocket): Promise<PortPair | null> {
    this.#taken.add(port);
    const sockets: DatagramSocket[] = [];
    try {
      for (const each of [port, port + 1]) sockets.push(await openSocket(this.localAddress, each));
    } catch (error) {
      await Promise.all(sockets.map((socket) => socket.close()));
      this.#taken.delete(port);
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
      throw error;
    }
    const [rtp, rtcp] = sockets as [DatagramSocket, DatagramSocket];
    let closing: Promise<void> | null = null;
    const close = async (): Promise<void> => {
      this.#resting.set(port, this.#clock.nowMs() + this.#drainMs);
      await Promise.all([rtp.close(), rtcp.close()]);
      this.#taken.delete(port);
    };
    return { rtp, rtcp, close: () => (closing ??= close()) };
  }
}
