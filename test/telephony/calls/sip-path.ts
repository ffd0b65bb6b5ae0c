import { SipCarrier } from '../../../src/telephony/carriers/sip/carrier.js';
import type { Carrier } from '../../../src/telephony/carriers/carrier.js';
import type { Ticker } from '../../../src/base/ticker.js';
import { Random } from '../../../src/base/random.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { openRtpSession, type RtpSession, type RtpStats } from '../../../src/transports/rtp/session.js';
import type { Hop } from '../../../src/telephony/sip/hop.js';
import type { SipTransport } from '../../../src/telephony/sip/transport/transport.js';
import { SipGateway } from '../../../src/testing/doubles/sip-gateway.js';
import { type NetworkQuality, UdpNetwork } from '../../transports/rtp/udp-network.js';
import { HOPS, type Wire } from '../sip/support.js';

const none = (): Promise<never> => Promise.reject(new Error('none'));

export interface SipPathOptions {
  wire: Wire;
  ticker: Ticker;
  /** Who is called, and calls. */
  phones: Carrier;
  own: string;
  /** Of the network between the trunk and its far side, for signalling and media. */
  quality: NetworkQuality;
  /** The far side sends and takes keys as tones. */
  hasNoEvents?: boolean;
}

/** The carrier of a SIP trunk whose far side is a gateway to other phones, all in virtual time. */
export class SipPath {
  readonly carrier: SipCarrier;
  readonly gateway: SipGateway;
  /** Of the agent's end of the last call that was opened. */
  get stats(): RtpStats | null {
    return this.#last?.stats() ?? null;
  }
  #last: RtpSession | null = null;

  private constructor(carrier: SipCarrier, gateway: SipGateway) {
    this.carrier = carrier;
    this.gateway = gateway;
  }

  static async open(options: SipPathOptions): Promise<SipPath> {
    const { wire, ticker, phones, own, quality, hasNoEvents = false } = options;
    const { clock } = wire;
    const network = new UdpNetwork(clock, new Random(7), quality);
    const random = new Random(3);
    wire.passes = () => !random.chance(quality.loss ?? 0);
    let tokens = 0;
    const chances = { token: (): string => `t${String(++tokens)}`, chance: (): number => random.next() };
    const portsOf = ({ address }: Hop): RtpPorts =>
      new RtpPorts({ clock, localAddress: address, openSocket: network.open });
    const [ours, theirs] = [portsOf(HOPS.ann), portsOf(HOPS.bob)];
    const transportOf = (hop: Hop): SipTransport => ({
      send: (bytes, to) => wire.send(bytes, hop, to),
      localPlace: () => ({ host: hop.address, port: hop.port, bound: hop.address }),
      isOpen: () => true,
      close: () => Promise.resolve(),
    });
    const gateway = new SipGateway({
      clock,
      phones,
      ...chances,
      hasNoEvents,
      trunk: HOPS.ann,
      host: HOPS.bob.address,
      transport: transportOf(HOPS.bob),
      openMedia: () => openRtpSession({ clock, ticker, ports: theirs }),
    });
    wire.attach(HOPS.bob, (bytes, from) => gateway.agent.receive(bytes, from));
    let path: SipPath | null = null;
    const carrier = await SipCarrier.open({
      clock,
      ticker,
      ...chances,
      credentials: null,
      register: false,
      sources: [],
      keepAliveMs: 0,
      names: { naptr: none, srv: none, addresses: none },
      servers: [{ protocol: 'UDP', host: HOPS.bob.address, port: null }],
      domain: 'trunk.example.com',
      openTransport: (events) => {
        wire.attach(HOPS.ann, (bytes, from) => events.onMessage(bytes, from));
        return Promise.resolve(transportOf(HOPS.ann));
      },
      openMedia: async (listener) => {
        const media = await openRtpSession({ clock, ticker, ports: ours, listener });
        if (path !== null) path.#last = media;
        return media;
      },
      codecs: ['PCMU', 'PCMA'],
      numbers: [own],
      owned: [own],
      numberFormat: 'e164',
      transfer: 'auto',
      countryOf: () => Promise.resolve('US'),
    });
    path = new SipPath(carrier, gateway);
    return path;
  }

  async close(): Promise<void> {
    await Promise.all([this.carrier.close(), this.gateway.close()]);
  }
}
