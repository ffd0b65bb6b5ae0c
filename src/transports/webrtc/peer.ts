import type { MediaPacket } from '../../audio/jitter-buffer.js';

/** The clock rate of Opus over RTP, whatever the encoded rate (RFC 7587, 4.1). */
export const OPUS_CLOCK_HZ = 48_000;

export interface IceServer {
  /** `stun:`, `turn:` or `turns:`. */
  urls: string;
  username?: string;
  credential?: string;
}

export interface PeerSettings {
  /** STUN servers for the public address, and TURN relays. Default none. */
  iceServers?: readonly IceServer[];
  /** UDP ports to use, inclusive. Default any. */
  portRange?: readonly [number, number] | null;
  /** Local addresses to offer in addition to those of the interfaces, such as `127.0.0.1`. Default none. */
  addresses?: readonly string[];
  /** Default true. */
  ipv6?: boolean;
}

/** Events of the other side. None of these throws. */
export interface PeerListener {
  /** Audio and data can flow. Called again after a reconnection. */
  connected(): void;
  /** Packets of one source: `begins` marks the first of another one. */
  audio(packet: MediaPacket): void;
  /** A key: 0-9, *, #, A-D. */
  digit(digit: string): void;
  /** A text message of the data channel. */
  message(text: string): void;
  /** The share of sent packets, 0 to 1, that the other side lost since its last report. */
  loss(share: number): void;
  /** The connection has ended; called once. */
  closed(reason: string): void;
}

/** One end of a WebRTC connection with one stream of Opus and a data channel. */
export interface WebRtcPeer {
  /**
   * Answers an offer, with all candidates in the answer. A further offer of the same connection changes it: other
   * addresses (ICE restart), another source of audio. Offers are answered one after the other.
   * @param sdp checked by `checkOffer`
   * @throws ParleyError OFFER_INVALID if it cannot be answered, RTP_PORTS_FULL if all of `portRange` is in use; an
   * existing connection continues
   */
  answer(sdp: string): Promise<string>;
  listen(listener: PeerListener): void;
  /**
   * Sends an Opus packet. Never throws.
   * @param ticks media time of its start, 48 000 a second
   * @param marker the first packet after silence
   */
  sendAudio(payload: Uint8Array, ticks: number, marker: boolean): void;
  /** Sends a text message; messages before the data channel exists wait for it. Never throws. */
  send(text: string): void;
  /** Bytes in the data channel's queue. */
  readonly bufferedBytes: number;
  /** Frees its sockets. May be called twice. */
  close(): Promise<void>;
}
