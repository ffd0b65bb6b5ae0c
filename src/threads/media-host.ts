import type { SessionLine } from '../engine/remote-line.js';
import type { CallMediaHost } from '../telephony/carriers/sip/call-media-host.js';
import type { PeerSettings } from '../transports/webrtc/peer.js';
import type { WebRtcTransport, WebRtcTransportOptions } from '../transports/webrtc/webrtc-transport.js';
import { loadOpus } from '../audio/codecs/opus.js';
import type { Clock } from '../base/clock.js';
import type { Ticker } from '../base/ticker.js';

/** A browser's line. */
export type WebRtcLine = SessionLine & Pick<WebRtcTransport, 'answer' | 'connected'>;

/** Opens lines and runs their media and sessions. Only this folder knows whether that happens on the main thread. */
export interface MediaHost {
  /** Whether all sessions run on the main thread. */
  readonly isLocal: boolean;
  /** The media of phone calls; loaded late. */
  callMedia(): Promise<CallMediaHost>;
  openWebRtc(peers: PeerSettings): Promise<WebRtcLine>;
  /** Resolves when all entries of a session so far are in its log file. */
  flushTrace(sessionId: string): Promise<boolean>;
  /** Ends the sessions of its threads. May be called twice. */
  close(): Promise<void>;
}

/** Media on this thread. The thread's engine owns and ends the sessions. */
export class LocalMediaHost implements MediaHost {
  readonly isLocal = true;
  readonly #clock: Clock;
  readonly #ticker: Ticker;

  constructor({ clock, ticker }: { clock: Clock; ticker: Ticker }) {
    this.#clock = clock;
    this.#ticker = ticker;
  }

  async callMedia(): Promise<CallMediaHost> {
    const { LocalCallMedia } = await import('../telephony/carriers/sip/local-call-media.js');
    return new LocalCallMedia({ clock: this.#clock, ticker: this.#ticker });
  }

  /** @param channel the messages of its data channel; default those of the talk socket */
  async openWebRtc(peers: PeerSettings, channel?: WebRtcTransportOptions['channel']): Promise<WebRtcTransport> {
    // Loaded late: most daemons' first call does not use WebRTC.
    const [{ WeriftPeer }, { WebRtcTransport }, opus] = await Promise.all([
      import('../transports/webrtc/werift-peer.js'),
      import('../transports/webrtc/webrtc-transport.js'),
      loadOpus(),
    ]);
    const clock = this.#clock;
    const parts = { peer: new WeriftPeer(peers, clock), opus, clock };
    return new WebRtcTransport(channel === undefined ? parts : { ...parts, channel });
  }

  flushTrace(): Promise<boolean> {
    return Promise.resolve(false); // the engine's own traces do this
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
