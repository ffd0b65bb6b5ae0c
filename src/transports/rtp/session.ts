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
  /** Address in descriptions for the other side's packets. Default: the bound address. */
  advertisedAddress?: string;
  /** In order of preference. Default PCMU, PCMA. */
  codecs?: readonly CodecName[];
  /** Default `accepted`. */
  srtp?: SrtpPolicy;
  /** Whether to send silence as comfort noise (RFC 3389), if the other side accepts it. Default false. */
  comfortNoise?: boolean;
}

/**
 * One call's media over RTP. The call's signalling exchanges descriptions in the order of RFC 3264: `offer` and then
 * `accept`, or `answer`; again at any time during the call.
 */
export interface RtpSession<Line extends Transport | null = Transport> {
  /**
   * The agent's side; null = the audio is in another thread. It may start at once; before `answered` no audio flows.
   */
  readonly line: Line;
  /** The result of the negotiation; null before. */
  readonly agreement: Agreement | null;
  /** Whether the other side has put the call on hold. */
  readonly isHeld: boolean;
  /**
   * An offer: for an INVITE, for the answer to an INVITE without one, for a change by re-INVITE or UPDATE. Without a
   * change it is the same text again.
   * @param direction wanted from now on: `sendonly` puts the other side on hold. Default: unchanged
   */
  offer(direction?: Direction): string;
  /**
   * Applies the answer to the last offer, including early answers and those of a fork.
   * @throws ParleyError SDP_INVALID, MEDIA_UNSUPPORTED: the previous agreement stays in force
   */
  accept(answer: string): void;
  /**
   * Answers an offer of the other side.
   * @throws ParleyError SDP_INVALID (answer 400), MEDIA_UNSUPPORTED (answer 488): the previous agreement stays in force
   */
  answer(offer: string): string;
  /** The offer was refused, or has crossed with another (491): restores the previous state. */
  rollback(): void;
  /** The call was answered: audio flows both ways from now on. */
  answered(): void;
  stats(): RtpStats;
  /** Ends the line and frees the ports. May be called twice. */
  close(): Promise<void>;
}

/**
 * Opens a call's sockets.
 * @throws ParleyError RTP_PORTS_FULL; TypeError if the ports are bound to all addresses and none is advertised
 */
export async function openRtpSession(options: RtpSessionOptions): Promise<RtpSession> {
  const { ports, codecs = ['PCMU', 'PCMA'], srtp = 'accepted', comfortNoise = false } = options;
  const { advertisedAddress: address = ports.localAddress } = options;
  assertReachable(address);
  return rtpSessionOver(await openRtpMedia({ ...options, codecs }), { address, codecs, srtp, comfortNoise });
}

/** @throws TypeError for the unspecified address, to which the other side cannot send */
export function assertReachable(address: string): void {
  if (isNowhere(address))
    throw new TypeError(
      'advertisedAddress: the other side cannot send to the unspecified address; set the address at which it reaches this machine',
    );
}

/** A call's media with their sockets. */
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

/** The media that a call's offers and answers control. */
export type AgreedMedia<Line extends Transport | null = Transport | null> = { readonly line: Line } & Pick<
  RtpMedia,
  'isHeld' | 'agree' | 'answered' | 'stats' | 'close'
>;

/** Offer/answer for open media, in this thread or another. */
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
