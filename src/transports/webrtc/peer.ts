import type { MediaPacket } from '../../audio/jitter-buffer.js';

/** The clock of Opus over RTP, whatever rate is encoded (RFC 7587, 4.1). */
export const OPUS_CLOCK_HZ = 48_000;

export interface IceServer {
  /** `stun:`, `turn:` or `turns:`. */
  urls: string;
  username?: string;
  credential?: string;
}

export interface PeerSettings {
  /** Servers that tell our public address, or relay. Default none. */
  iceServers?: readonly IceServer[];
  /** UDP ports to use, both included. Default any. */
  portRange?: readonly [number, number] | null;
  /** Addresses of ours to offer beside those of the machine's interfaces, such as `127.0.0.1`. Default none. */
  addresses?: readonly string[];
  /** Default true. */
  ipv6?: boolean;
}

/** What a peer hears from the other side. None of these throws. */
export interface PeerListener {
  /** Audio and data can flow. Called again after a reconnection. */
  connected(): void;
  /** Packets of one source: the first of another one `begins`. */
  audio(packet: MediaPacket): void;
  /** A key: 0-9, *, #, A-D. */
  digit(digit: string): void;
  /** A text message of the data channel. */
  message(text: string): void;
  /** The share of our packets, 0..1, that the other side has lost since it reported last. */
  loss(share: number): void;
  /** The connection is gone for good; called once. */
  closed(reason: string): void;
}

/** One end of a WebRTC connection that carries one line of Opus and a data channel. */
export interface WebRtcPeer {
  /**
   * Answers an offer with all candidates in it. A further one of the same connection changes it: other addresses (ICE
   * restart), another source of audio. Offers are answered one after the other.
   * @param sdp as `checkOffer` has let through
   * @throws ParleyError OFFER_INVALID where it cannot be answered, RTP_PORTS_FULL where all of `portRange` is in use; a
   * connection that there is goes on
   */
  answer(sdp: string): Promise<string>;
  listen(listener: PeerListener): void;
  /**
   * Sends a packet of Opus. Never throws.
   * @param ticks media time of its beginning, of 48 000 a second
   * @param marker the first one after silence
   */
  sendAudio(payload: Uint8Array, ticks: number, marker: boolean): void;
  /** Sends a text message, once there is a data channel: those before wait for it. Never throws. */
  send(text: string): void;
  /** What lies in the data channel's queue, in bytes. */
  readonly bufferedBytes: number;
  /** Frees its sockets. May be called twice. */
  close(): Promise<void>;
}
