import { loadOpus } from '../audio/codecs/opus.js';
import type { Clock } from '../base/clock.js';
import type { Ticker } from '../base/ticker.js';
import type { CallMediaHost } from '../telephony/carriers/sip/call-media-host.js';
import type { PeerSettings } from '../transports/webrtc/peer.js';
import type { WebRtcTransport } from '../transports/webrtc/webrtc-transport.js';
import type { MediaHost } from './media-host.js';

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

  async openWebRtc(peers: PeerSettings): Promise<WebRtcTransport> {
    // Loaded late: most daemons' first call does not use WebRTC.
    const [{ WeriftPeer }, { WebRtcTransport }, opus] = await Promise.all([
      import('../transports/webrtc/werift-peer.js'),
      import('../transports/webrtc/webrtc-transport.js'),
      loadOpus(),
    ]);
    const clock = this.#clock;
    return new WebRtcTransport({ peer: new WeriftPeer(peers, clock), opus, clock });
  }

  flushTrace(): Promise<void> {
    return Promise.resolve(); // the engine's own traces do this
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
