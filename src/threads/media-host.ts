import type { SessionLine } from '../engine/remote-line.js';
import type { CallMediaHost } from '../telephony/carriers/sip/call-media-host.js';
import type { PeerSettings } from '../transports/webrtc/peer.js';
import type { WebRtcTransport } from '../transports/webrtc/webrtc-transport.js';

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
  flushTrace(sessionId: string): Promise<void>;
  /** Ends the sessions of its threads. May be called twice. */
  close(): Promise<void>;
}
