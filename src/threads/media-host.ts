import type { SessionLine } from '../engine/remote-line.js';
import type { CallMediaHost } from '../telephony/carriers/sip/call-media-host.js';
import type { PeerSettings } from '../transports/webrtc/peer.js';
import type { WebRtcTransport } from '../transports/webrtc/webrtc-transport.js';

/** A browser's line. */
export type WebRtcLine = SessionLine & Pick<WebRtcTransport, 'answer' | 'connected'>;

/** Where calls have their lines, media and sessions. Only this folder knows whether that is the main thread. */
export interface MediaHost {
  /** Whether all sessions run on the main thread. */
  readonly isLocal: boolean;
  /** Where phone calls are; loaded late. */
  callMedia(): Promise<CallMediaHost>;
  openWebRtc(peers: PeerSettings): Promise<WebRtcLine>;
  /** Resolves when what has happened so far in a session is in the file of its log. */
  flushTrace(sessionId: string): Promise<void>;
  /** Ends the sessions of its threads. May be called twice. */
  close(): Promise<void>;
}
