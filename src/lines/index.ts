/** @parley-voice/parley/lines: calls for an engine in your own process. See docs/library.md. */
export type { IncomingCall, Line, LineOptions, OnIncomingCall, PhoneLine } from './line.js';
export {
  talkSocketLine,
  type TalkCall,
  type TalkInvitation,
  type TalkSocketLine,
  type TalkSocketLineOptions,
} from './talk-socket.js';
export { webRtcLine, type CallerInfo, type WebRtcLine, type WebRtcLineOptions } from './webrtc.js';
export type { IceServer, PeerSettings } from '../transports/webrtc/peer.js';
