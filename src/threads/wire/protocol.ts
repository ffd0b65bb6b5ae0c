import type { SpecialInformation } from '../../audio/tones/special-information-tones.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { ChatMessage } from '../../agent/chat.js';
import type { EngineOptions, NamedAgent, SessionRequest } from '../../engine/options.js';
import type { RemoteSession } from '../../engine/remote-line.js';
import type { WaitingRequest } from '../../engine/waiting.js';
import { type CodecName, type CodecFacts, CODECS } from '../../transports/rtp/media-codec.js';
import type { RtpStats } from '../../transports/rtp/media.js';
import type { Agreement } from '../../transports/rtp/negotiation.js';
import type { DoNotCallEntry } from '../../session/after-call/do-not-call.js';
import type { LogEntry } from '../../session/record/event-log.js';
import type { CommandResult, NewParticipant, Side } from '../../conversation/control/command.js';
import type { TapFrame } from '../../session/tap.js';
import type { EndOptions, SessionCommand } from '../../session/steered-session.js';
import type { Consultation } from '../../session/line/line-actions.js';
import type { FinishedSession, Memory } from '../../session/after-call/memory.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { FunctionCall, SessionReport } from '../../session/record/session-report.js';
import type { KnowledgeQuery, Passage } from '../../tools/knowledge/knowledge.js';
import type { McpGrant, McpRefusal } from '../../tools/mcp/oauth/grant.js';
import type { LineStats, PlaceInQueue, TransferOutcome } from '../../transports/transport.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import type { FunctionRun, PlainTool } from '../../tools/code-tool.js';
import type { ToolResult } from '../../tools/tool.js';
import type { WireError } from './rpc.js';
import type { StoredVoice } from '../../store/voices.js';
import type { SrtpKey } from '../../transports/rtp/srtp-cipher.js';

/** Options of an engine that can be recreated in another thread. */
export type PlainOptions = Pick<
  EngineOptions,
  | 'defaults'
  | 'models'
  | 'vendors'
  | 'voiceSubstitutes'
  | 'languageVendors'
  | 'failover'
  | 'vad'
  | 'speculation'
  | 'earlySpeculation'
  | 'endpointing'
  | 'localModels'
  | 'allowUrls'
  | 'serviceWebhooks'
  | 'mediaCacheDir'
  | 'appBaseUrls'
  | 'mcpServers'
  | 'webhookSecret'
  | 'maxPromptChars'
  | 'maxToolReplyBytes'
> & {
  turnModel?: string;
  recordings?: string;
  /** Plug-ins that the thread loads, too. Default none. */
  pluginFiles?: readonly string[];
  /** Functions of plug-ins: their code runs in the main thread. Default none. */
  functions?: readonly PlainTool[];
};

/** The start parameters of a media thread. */
export interface ThreadSettings {
  options: PlainOptions;
  /** Where event logs go; null = nowhere. */
  traces: { path: string; maxBytes: number } | null;
}

/** Not transferable: the thread that creates the session is asked or notified instead. */
type Own =
  'transport' | 'tools' | 'vad' | 'stt' | 'llm' | 'tts' | 'mayTransfer' | 'consult' | 'outcome' | 'observe' | 'log';

/** Facts about a phone call's line and media, known in their thread. */
export interface LineFacts {
  digitsSent: string;
  digitsReceived: string;
  line: LineStats;
  /** Null until they are open. */
  media: RtpStats | null;
}

/** A request from another thread for a session. */
export type RemoteSessionRequest = Omit<SessionRequest, Own> & {
  id: string;
  agent: AgentConfig;
  /** Functions of the request: their code runs in the requesting thread. */
  functions: readonly PlainTool[];
  /** The questions that the requesting thread can answer. */
  asks: { mayTransfer: boolean; consult: boolean };
  /** Whether the requesting thread gets every event and effect. */
  logs: boolean;
};

/** A request from another thread for a waiting caller. */
export type RemoteWaitingRequest = Omit<WaitingRequest, Own | 'interceptTool' | 'events'>;

/** Of a line in the main thread. */
export interface LineRates {
  inputRateHz: number;
  outputRateHz: number;
}

/** Methods of a media thread for the main thread. */
export type ThreadMethods = {
  /** Loads the engine. Resolves to messages about providers that cannot be reached, like `Engine.warmUp`. */
  warmUp: (nothing: null) => Promise<readonly string[]>;
  openWebRtc: (line: { line: string; peers: PeerSettings }) => Promise<void>;
  /** Resolves to the SDP answer. */
  answerOffer: (offer: { line: string; sdp: string }) => Promise<string>;
  closeLine: (line: string) => Promise<void>;
  /** The line of a phone call; its media follow. */
  openCall: (call: { line: string; rateHz: number }) => void;
  /** Opens a socket for its media. Resolves to its port. */
  openSocket: (socket: { line: string; address: string; port: number }) => Promise<number>;
  closeSocket: (socket: { line: string; port: number }) => Promise<void>;
  openMedia: (media: {
    line: string;
    ports: { rtp: number; rtcp: number };
    codecs: readonly CodecName[];
  }) => Promise<void>;
  agree: (what: { line: string; agreement: Agreement }) => void;
  answered: (line: string) => void;
  lineKeys: (what: { line: string; keys: string }) => void;
  lineGone: (what: { line: string; error: WireError | null }) => void;
  /** The facts about a call; the last ones are final. */
  callFacts: (of: { line: string; areLast: boolean }) => Promise<LineFacts>;
  closeMedia: (line: string) => Promise<RtpStats>;
  bridge: (what: { bridge: string; first: string; second: string }) => void;
  unbridge: (bridge: string) => void;
  /** The custom voices for the sessions that follow. */
  voices: (all: readonly StoredVoice[]) => void;
  openSession: (
    wanted: { line: string; request: RemoteSessionRequest },
    signal: AbortSignal,
  ) => Promise<RemoteSession['record']>;
  /** Resolves to the agent's language. */
  openWaiting: (wanted: { line: string; request: RemoteWaitingRequest }) => Promise<string>;
  startWaiting: (line: string) => void;
  /** Null = the tone after which a caller speaks. */
  sayWaiting: (what: { line: string; text: string | null }) => Promise<boolean>;
  hushWaiting: (line: string) => void;
  tellWaiting: (what: { line: string; place: PlaceInQueue }) => void;
  closeWaiting: (line: string) => void;
  runSession: (session: string) => void;
  closeSession: (session: string) => void;
  /** Like `Session.control`. An update's tools are those of the command, and `functions`. */
  control: (
    what: { session: string; command: SessionCommand; functions: readonly PlainTool[] },
    signal: AbortSignal,
  ) => Promise<CommandResult>;
  /** Like `Session.join`: the line stays in the main thread. Its audio follows. */
  join: (
    what: { session: string; participant: NewParticipant; rates: LineRates },
    signal: AbortSignal,
  ) => Promise<void>;
  participantAudio: (what: { session: string; participant: string; samples: Int16Array }) => void;
  participantGone: (what: { session: string; participant: string; error: WireError | null }) => void;
  endSession: (what: { session: string; options: EndOptions }) => void;
  /** Sends what a side says, or (`on` false) no longer. */
  tap: (what: { session: string; side: Side; on: boolean }) => void;
  sendText: (what: { session: string; text: string }) => void;
  finish: (what: { session: string; target: string | null }) => void;
  noteFault: (what: { session: string; name: string; reason: string }) => void;
  /** A function that the thread has called reports progress. */
  functionProgress: (what: { run: string; text: string }) => void;
  /** Resolves when all entries of a session so far are in its log file: with whether it may get more. */
  flushTrace: (session: string) => Promise<boolean>;
  /** Ends its sessions and frees everything. */
  close: (nothing: null) => Promise<void>;
};

/** Methods of the main thread for a media thread. */
export type MainMethods = {
  connected: (line: string) => void;
  notConnected: (what: { line: string; error: WireError }) => void;
  /** The agent has left a phone call. */
  lineLeft: (what: { line: string; facts: LineFacts }) => void;
  mediaLost: (what: { line: string; error: WireError }) => void;
  mediaAnnounced: (what: { line: string; what: SpecialInformation }) => void;
  waitingKeys: (what: { line: string; keys: string }) => void;
  waitingWords: (what: { line: string; text: string }) => void;
  waitingClosed: (line: string) => void;
  waitingFault: (what: { line: string; name: string; reason: string }) => void;
  transfer: (what: { line: string; target: string }, signal: AbortSignal) => Promise<TransferOutcome>;
  event: (what: { session: string; event: Exclude<SessionEvent, { type: 'ended' }> }) => void;
  log: (what: { session: string; entry: LogEntry }) => void;
  /** The next frame follows the answer. */
  tapped: (what: { session: string; frame: TapFrame }) => Promise<void>;
  /** The next 20 ms that a participant hears; null = silence. */
  participantFrame: (what: { session: string; participant: string; frame: Int16Array | null }) => void;
  /** The session has closed the line of a participant. */
  participantClosed: (what: { session: string; participant: string }) => void;
  finished: (report: SessionReport) => void;
  mayTransfer: (what: { session: string; target: string }) => Promise<string | null>;
  consult: (what: { session: string; about: Consultation }, signal: AbortSignal) => Promise<TransferOutcome>;
  /** Runs the code of a function. The signal is aborted when its call is over. */
  callFunction: (what: { run: string; name: string; about: FunctionRun }, signal: AbortSignal) => Promise<ToolResult>;
  isOnDoNotCall: (number: string) => Promise<boolean>;
  listDoNotCall: (all: null) => Promise<readonly DoNotCallEntry[]>;
  doNotCall: (entry: DoNotCallEntry) => void;
  /** Messages of an earlier session; null = there is none. */
  sessionById: (of: { id: string; agentId: string | null }) => Promise<readonly ChatMessage[] | null>;
  latestSession: (of: {
    identifier: string;
    value: string;
    agentId: string | null;
  }) => Promise<readonly ChatMessage[] | null>;
  remember: (session: FinishedSession) => void;
  /** Like `AgentSource`. */
  findAgent: (id: string) => Promise<NamedAgent | null>;
  knownFiles: (ids: readonly string[]) => Promise<string[]>;
  filesOf: (agentId: string) => Promise<string[]>;
  search: (query: Omit<KnowledgeQuery, 'signal'>, signal: AbortSignal) => Promise<Passage[]>;
  recall: (of: { agentId: string; user: string; limit: number }) => Promise<readonly Memory[]>;
  keepMemory: (memory: Memory) => Promise<void>;
  /** Like `AfterCallMarks`. */
  startAfterCall: (what: { session: string; name: string }) => Promise<boolean>;
  finishAfterCall: (what: { session: string; call: FunctionCall }) => Promise<void>;
  /** A notification that the thread received has failed. */
  fault: (error: WireError) => void;
  mcpFault: (what: { server: string; reason: string }) => void;
  /** Like `McpTokenSource`. */
  mcpGrant: (server: string, signal: AbortSignal) => Promise<McpGrant>;
  mcpRenew: (what: { server: string; refusal: McpRefusal }, signal: AbortSignal) => Promise<McpGrant>;
};

/** Copies keys out of Node's buffer pool, which would be transferred with them. */
export function plainAgreement({ srtp, ...agreement }: Agreement): Agreement {
  const own = ({ suite, key, salt }: SrtpKey): SrtpKey => ({
    suite,
    key: new Uint8Array(key),
    salt: new Uint8Array(salt),
  });
  return { ...agreement, srtp: srtp === null ? null : { send: own(srtp.send), receive: own(srtp.receive) } };
}

/**
 * A transferred agreement with this thread's codec objects: codecs are compared by identity. It is read for each
 * packet, so the spread comes last, see docs/performance.md.
 */
export function ownAgreement({ codec, codecs, ...rest }: Agreement): Agreement {
  const own = ({ name }: CodecFacts): CodecFacts => CODECS[name];
  return {
    codec: { payloadType: codec.payloadType, facts: own(codec.facts) },
    codecs: new Map([...codecs].map(([type, facts]) => [type, own(facts)])),
    ...rest,
  };
}
