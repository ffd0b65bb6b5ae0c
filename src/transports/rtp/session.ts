import { randomBytes } from 'node:crypto';
import { loadOpus } from '../../audio/codecs/opus.js';
import { RtpMedia, type RtpMediaOptions, type RtpStats } from './media.js';
import { type Agreement, isNowhere, Negotiation, type NegotiationOptions, type SrtpPolicy } from './negotiation.js';
import type { RtpPorts } from './ports.js';
import type { Direction } from './sdp.js';
import type { CodecName } from './media-codec.js';
import type { Transport } from '../transport.js';

export type { RtpListener, RtpStats } from './media.js';

export interface RtpSessionOptions extends Omit<RtpMediaOptions, 'codecs'> {
  ports: RtpPorts;
  /** Address that descriptions tell the other side to send to. Default: the one that the ports are bound to. */
  advertisedAddress?: string;
  /** The most wanted first. Default PCMU, PCMA. */
  codecs?: readonly CodecName[];
  /** Default `accepted`. */
  srtp?: SrtpPolicy;
  /** Whether silence is sent as comfort noise (RFC 3389), where the other side takes it. Default false. */
  comfortNoise?: boolean;
}

/**
 * One call's media over RTP. Descriptions are exchanged by the call's signalling, in the order of RFC 3264: `offer` and
 * then `accept`, or `answer`; again at any time in the call.
 */
export interface RtpSession<Line extends Transport | null = Transport> {
  /** The agent's end; null = the sound is in another thread. It may be started at once; before `answered` nothing is heard on it, and nothing sent. */
  readonly line: Line;
  /** What both have agreed upon; null before. */
  readonly agreement: Agreement | null;
  /** Whether the other side has put us on hold. */
  readonly isHeld: boolean;
  /**
   * An offer of ours: for an INVITE, for the answer to one that came without an offer, for a change by re-INVITE or
   * UPDATE. Where nothing is to change it is the same text again.
   * @param direction what is wanted from now on: `sendonly` puts the other side on hold. Default: as before
   */
  offer(direction?: Direction): string;
  /**
   * The answer to the last offer; each early answer, and those of a fork, may be given.
   * @throws ParleyError SDP_INVALID, MEDIA_UNSUPPORTED: what held before holds on
   */
  accept(answer: string): void;
  /**
   * The answer to an offer of the other side.
   * @throws ParleyError SDP_INVALID (answer 400), MEDIA_UNSUPPORTED (answer 488): what held before holds on
   */
  answer(offer: string): string;
  /** Our offer was refused, or has met one of theirs (491): all is as it was before it. */
  rollback(): void;
  /** The call has been answered: from now on the other side is heard, and hears. */
  answered(): void;
  stats(): RtpStats;
  /** Ends the line and frees the ports. May be called twice. */
  close(): Promise<void>;
}

/**
 * Opens the sockets of a call.
 * @throws ParleyError RTP_PORTS_FULL; TypeError where the ports are bound to all addresses and none is advertised
 */
export async function openRtpSession(options: RtpSessionOptions): Promise<RtpSession> {
  const { ports, codecs = ['PCMU', 'PCMA'], srtp = 'accepted', comfortNoise = false } = options;
  const { advertisedAddress: address = ports.localAddress } = options;
  assertReachable(address);
  return rtpSessionOver(await openRtpMedia({ ...options, codecs }), { address, codecs, srtp, comfortNoise });
}

/** @throws TypeError for the address that stands for all: the other side cannot send to it */
export function assertReachable(address: string): void {
  if (isNowhere(address)) throw new TypeError('advertisedAddress: the other side cannot send to all addresses');
}

/** A call's media with the sockets that were opened for them. */
export interface OpenedMedia<Line extends Transport | null = Transport | null> {
  media: AgreedMedia<Line>;
  port: number;
  rtcpPort: number;
}

/** Opens a call's sockets and media in this thread. @throws ParleyError RTP_PORTS_FULL */
export async function openRtpMedia({
  ports,
  ...options
}: RtpMediaOptions & { ports: RtpPorts }): Promise<OpenedMedia<Transport>> {
  const opus = options.codecs.includes('opus') ? await loadOpus() : null;
  const pair = await ports.open();
  return { media: new RtpMedia(options, pair, opus), port: pair.rtp.port, rtcpPort: pair.rtcp.port };
}

/** What a call's offers and answers come to. */
export type AgreedMedia<Line extends Transport | null = Transport | null> = { readonly line: Line } & Pick<
  RtpMedia,
  'isHeld' | 'agree' | 'answered' | 'stats' | 'close'
>;

/** Offers and answers for media that are open, in this thread or in another one. */
export function rtpSessionOver<Line extends Transport | null>(
  { media, port, rtcpPort }: OpenedMedia<Line>,
  options: Omit<NegotiationOptions, 'sessionId' | 'port' | 'rtcpPort'>,
): RtpSession<Line> {
  const sessionId = String(randomBytes(6).readUIntBE(0, 6));
  return new Session(media, new Negotiation({ ...options, port, rtcpPort, sessionId }));
}

class Session<Line extends Transport | null> implements RtpSession<Line> {
  readonly #media: AgreedMedia<Line>;
  readonly #negotiation: Negotiation;

  constructor(media: AgreedMedia<Line>, negotiation: Negotiation) {
    this.#media = media;
    this.#negotiation = negotiation;
  }

  get line(): Line {
    return this.#media.line;
  }

  get agreement(): Agreement | null {
    return this.#negotiation.agreement;
  }

  get isHeld(): boolean {
    return this.#media.isHeld;
  }

  offer(direction?: Direction): string {
    return this.#negotiation.offer(direction);
  }

  accept(answer: string): void {
    this.#media.agree(this.#negotiation.accept(answer));
  }

  answer(offer: string): string {
    const { sdp, agreement } = this.#negotiation.answer(offer);
    this.#media.agree(agreement);
    return sdp;
  }

  rollback(): void {
    this.#negotiation.rollback();
  }

  answered(): void {
    this.#media.answered();
  }

  stats(): RtpStats {
    return this.#media.stats();
  }

  close(): Promise<void> {
    return this.#media.close();
  }
}
