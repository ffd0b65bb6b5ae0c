/** @parley-voice/parley/lines: calls for an engine in your own process. See docs/library.md. */
export type { IncomingCall, Line, LineOptions, OnIncomingCall, PhoneLine } from './line.js';
export {
  talkSocketLine,
  type TalkCall,
  type TalkInvitation,
  type TalkSocketLine,
  type TalkSocketLineOptions,
} from './talk-socket.js';
export { webRtcLine, type WebRtcLine, type WebRtcLineOptions } from './webrtc.js';
export { rtpLine, type RtpDial, type RtpLine, type RtpLineOptions, type RtpRemote, type RtpTransfer } from './rtp.js';
export { sipLine, type SipLine, type SipLineOptions } from './sip.js';
export {
  plivoLine,
  telnyxLine,
  twilioLine,
  type CarrierLine,
  type CarrierLineOptions,
  type PlivoLineOptions,
  type TelnyxLineOptions,
  type TwilioLineOptions,
} from './carriers.js';
export type { CallerInfo } from './direct-call.js';
export type { IceServer, PeerSettings } from '../transports/webrtc/peer.js';
export type { PlivoSettings } from '../settings/carriers/plivo.js';
export type { SipSettings } from '../settings/carriers/sip.js';
export type { TelnyxSettings } from '../settings/carriers/telnyx.js';
export type { TwilioSettings } from '../settings/carriers/twilio.js';
export type { SocketRefusal } from '../telephony/carriers/carrier.js';
export type { TrunkState } from '../telephony/carriers/sip/carrier.js';
export type { SipServerState } from '../telephony/sip/trunk/servers.js';
export type { Hop } from '../telephony/sip/hop.js';
export type { SipProtocol } from '../telephony/sip/hop.js';
export type { RegistrationState } from '../telephony/sip/trunk/registration.js';
export type { CodecName } from '../transports/rtp/media-codec.js';
export type { SrtpPolicy } from '../transports/rtp/negotiation.js';
