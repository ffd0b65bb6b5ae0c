import type { SessionLine } from '../engine/remote-line.js';
import type { CallMediaHost } from '../telephony/carriers/sip/call-media-host.js';
import type { PeerSettings } from '../transports/webrtc/peer.js';
import type { WebRtcTransport, WebRtcTransportOptions } from '../transports/webrtc/webrtc-transport.js';
import type { Clock } from '../base/clock.js';
import type { Ticker } from '../base/ticker.js';
import { openWebRtc } from '../transports/webrtc/open-webrtc.js';

/** A browser's line. */
export type BrowserLine = SessionLine & Pick<WebRtcTransport, 'answer' | 'connected'>;

/** Opens lines and runs their media and sessions. Only this folder knows whether that happens on the main thread. */
export interface MediaHost {
  /** Whether all sessions run on the main thread. */
  readonly isLocal: boolean;
  /** The media of phone calls; loaded late. */
  callMedia(): Promise<CallMediaHost>;
  openWebRtc(peers: PeerSettings): Promise<BrowserLine>;
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
  openWebRtc(peers: PeerSettings, channel?: WebRtcTransportOptions['channel']): Promise<WebRtcTransport> {
    return openWebRtc(peers, this.#clock, channel);
  }

  flushTrace(): Promise<boolean> {
    return Promise.resolve(false); // the engine's own traces do this
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
