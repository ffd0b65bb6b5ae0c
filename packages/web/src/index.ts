/** Calls to agents of parley from browsers. Nothing here touches `window` before a call, so servers may import it. */
export type {
  TalkAction as CallAction,
  TalkForm as CallForm,
  TalkTurnTimes as TurnTimes,
} from '../../../src/transports/talk-protocol.js';
export { Call, type AgentText, type CallEnd, type CallEvents } from './call.js';
export { connect } from './connect.js';
export { connectSocket } from './connect-socket.js';
export { DaemonApi } from './daemon.js';
export { type CallDevice, type CallDevices, listDevices } from './devices.js';
export { endingWords } from './endings.js';
export { CallError, type CallErrorCode } from './errors.js';
export type { CallLevels, CallStats, CallTransport } from './line.js';
export type { ConnectOptions, SessionToken } from './options.js';
export { type ResumePoint, retry } from './reconnect.js';
export type { QueuePlace } from './session.js';
export type { CallState } from './state.js';
export { CallTranscript, type SpokenMessage, type TranscriptEntry, type UserWords } from './transcript.js';
