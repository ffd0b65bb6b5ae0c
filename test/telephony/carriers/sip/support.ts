import { SipCarrier, type SipCarrierOptions } from '../../../../src/telephony/carriers/sip/carrier.js';
import { Ticker } from '../../../../src/base/ticker.js';
import { Random } from '../../../../src/base/random.js';
import { RtpPorts } from '../../../../src/transports/rtp/ports.js';
import { openRtpSession, type RtpListener, type RtpSession } from '../../../../src/transports/rtp/session.js';
import type { DatagramSocket, OpenSocket } from '../../../../src/transports/rtp/socket.js';
import type { InboundCall } from '../../../../src/telephony/sip/call/inbound.js';
import type { Leg } from '../../../../src/telephony/sip/call/leg.js';
import type { SipOutboundCall } from '../../../../src/telephony/sip/call/outbound.js';
import { UserAgent } from '../../../../src/telephony/sip/user-agent.js';
import { HOPS, Wire } from '../../sip/support.js';
import { NUMBERS, OWN } from '../numbers.js';

const none = (): Promise<never> => Promise.reject(new Error('none'));

export { NUMBERS, OWN };

const DATAGRAM_MS = 20;

/** A network for media: sockets by address and port, in virtual time. */
export class MediaNet {
  readonly #wire: Wire;
  readonly #sockets = new Map<string, (datagram: Uint8Array, address: string, port: number) => void>();
  #next = 20_000;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  readonly open: OpenSocket = (address, wanted) => {
    const port = wanted === 0 ? this.#next++ : wanted;
    const own = `${address}:${String(port)}`;
    const { clock } = this.#wire;
    const socket: DatagramSocket = {
      port,
      listen: (onDatagram) => this.#sockets.set(own, onDatagram),
      send: (datagram, to, toPort) => {
        const copy = Uint8Array.from(datagram);
        clock.schedule(clock.nowMs() + DATAGRAM_MS, () => {
          this.#sockets.get(`${to}:${String(toPort)}`)?.(copy, address, port);
        });
      },
      close: () => {
        this.#sockets.delete(own);
        return Promise.resolve();
      },
    };
    return Promise.resolve(socket);
  };

  get sockets(): number {
    return this.#sockets.size;
  }
}

/** One call at the exchange. */
interface FarCall {
  number: string;
  media: RtpSession;
  leg: Leg | null;
  keys: string;
  loudness: number;
}

/**
 * An exchange with people at it, as a trunk's far side: SIP by the project's own user agent, which sipp and baresip
 * vouch for outside, and real RTP.
 */
export class Exchange {
  readonly wire: Wire;
  readonly ticker: Ticker;
  readonly calls: FarCall[] = [];
  readonly agent: UserAgent;
  readonly #ports: RtpPorts;
  #tokens = 0;

  constructor(wire: Wire, net: MediaNet, ticker: Ticker) {
    this.wire = wire;
    this.ticker = ticker;
    const random = new Random(5);
    this.#ports = new RtpPorts({ clock: wire.clock, localAddress: HOPS.bob.address, openSocket: net.open });
    this.agent = new UserAgent({
      clock: wire.clock,
      transport: {
        send: (bytes, to) => wire.send(bytes, HOPS.bob, to),
        localPlace: () => ({ host: HOPS.bob.address, port: HOPS.bob.port, bound: HOPS.bob.address }),
        isOpen: () => true,
        close: () => Promise.resolve(),
      },
      digest: null,
      token: () => `x${String(++this.#tokens)}`,
      chance: () => random.next(),
      isTrusted: () => true,
      onCall: (call) => void this.#called(call),
      user: 'exchange',
    });
    wire.attach(HOPS.bob, (bytes, from) => this.agent.receive(bytes, from));
  }

  /**
   * Somebody calls in.
   * @param named the user part of `To`
   * @param from the user part of `From`
   */
  async callIn(
    to: string,
    headers: [string, string][] = [],
    named = to,
    from = '+12025550177',
  ): Promise<SipOutboundCall> {
    const far = await this.#far(from);
    const call: SipOutboundCall = this.agent.call({
      target: `sip:${to}@192.0.2.1`,
      from: `<sip:${from}@192.0.2.2>`,
      to: `<sip:${named}@192.0.2.1>`,
      hops: [HOPS.ann],
      media: far.media,
      headers,
      events: {
        onRinging: () => undefined,
        onAnswered: (leg) => {
          far.leg = leg;
          far.media.answered();
          this.#speak(far);
        },
        onFailed: () => void far.media.close(),
        onEnded: () => void far.media.close(),
        onKeys: () => undefined,
      },
    });
    call.start();
    return call;
  }

  async close(): Promise<void> {
    for (const { media } of this.calls) await media.close();
    this.agent.close();
  }

  async #called(call: InboundCall): Promise<void> {
    const far = await this.#far(call.to);
    call.listen({ onEnded: () => void far.media.close(), onKeys: (keys) => (far.keys += keys) });
    if (call.to === NUMBERS.nobody) return call.reject(404);
    if (call.to === NUMBERS.busy) return call.reject(486);
    if (!call.prepare(far.media)) return;
    call.ring();
    const later = (ms: number, then: () => void): void => {
      this.wire.clock.schedule(this.wire.clock.nowMs() + ms, then);
    };
    if (call.to === NUMBERS.absent) return;
    if (call.to === NUMBERS.rejecting) return later(500, () => call.reject(603));
    later(500, () => {
      call.answer();
      far.leg = call.leg;
      far.media.answered();
      this.#speak(far);
      if (call.to === NUMBERS.leaver) later(1500, () => call.leg?.bye());
      else
        later(600, () => void far.media.line.sendDigits?.('12', new AbortController().signal).catch(() => undefined));
    });
  }

  async #far(number: string): Promise<FarCall> {
    const { clock } = this.wire;
    const media = await openRtpSession({ clock, ticker: this.ticker, ports: this.#ports });
    const far: FarCall = { number, media, leg: null, keys: '', loudness: 0 };
    media.line.start({
      audio: (samples) => {
        for (const sample of samples) far.loudness = Math.max(far.loudness, Math.abs(sample));
      },
      digits: (keys) => (far.keys += keys),
      text: () => undefined,
      formResult: () => undefined,
      closed: () => undefined,
    });
    this.calls.push(far);
    return far;
  }

  #speak({ media }: FarCall): void {
    const tone = Int16Array.from({ length: 8000 }, (_, at) => 8000 * Math.sin(at * 0.5));
    let at = 0;
    const stop = this.ticker.subscribe(() => {
      const frame = tone.subarray(at, at + 160);
      at += 160;
      if (frame.length < 160) stop();
      else media.line.play(frame.slice());
    });
  }
}

/** A trunk in virtual time, with an exchange at its far side. */
export async function openRig(options: Partial<SipCarrierOptions> = {}) {
  const wire = new Wire();
  const net = new MediaNet(wire);
  const ticker = new Ticker(wire.clock);
  const exchange = new Exchange(wire, net, ticker);
  const random = new Random(3);
  const ports = new RtpPorts({ clock: wire.clock, localAddress: HOPS.ann.address, openSocket: net.open });
  const errors: unknown[] = [];
  /** What the carrier listens to its calls' media with, in their order. */
  const listeners: RtpListener[] = [];
  let tokens = 0;
  const carrier = await SipCarrier.open({
    clock: wire.clock,
    ticker,
    credentials: null,
    register: false,
    sources: [],
    keepAliveMs: 0,
    token: () => `p${String(++tokens)}`,
    chance: () => random.next(),
    names: { naptr: none, srv: none, addresses: none },
    servers: [{ protocol: 'UDP', host: HOPS.bob.address, port: null }],
    domain: 'trunk.example.com',
    openTransport: (user) => {
      wire.attach(HOPS.ann, (bytes, from) => {
        if (user.isTrusted(from)) user.onMessage(bytes, from);
        else user.onRefused('stranger');
      });
      return Promise.resolve({
        send: (bytes, to) => wire.send(bytes, HOPS.ann, to),
        localPlace: () => ({ host: HOPS.ann.address, port: HOPS.ann.port, bound: HOPS.ann.address }),
        isOpen: () => true,
        close: () => Promise.resolve(),
      });
    },
    openMedia: (listener) => {
      listeners.push(listener);
      return openRtpSession({ clock: wire.clock, ticker, ports, listener });
    },
    codecs: ['PCMU', 'PCMA'],
    numbers: [OWN, '+12025550198', '+12025550197'],
    owned: [OWN],
    numberFormat: 'e164',
    transfer: 'auto',
    countryOf: (number) => Promise.resolve(number.startsWith('+1') ? 'US' : null),
    onError: (error) => errors.push(error),
    ...options,
  });
  const until = async (condition: () => boolean, limitMs = 120_000): Promise<void> => {
    const { clock } = wire;
    if (!(await clock.runUntil(condition, clock.nowMs() + limitMs)))
      throw new Error(`it never came to that: ${wire.said}`);
  };
  const dispose = async (): Promise<void> => {
    const closing = carrier.close();
    await wire.clock.advanceBy(500);
    await closing;
    await exchange.close();
  };
  return { wire, net, exchange, carrier, errors, listeners, until, dispose, ticker };
}
