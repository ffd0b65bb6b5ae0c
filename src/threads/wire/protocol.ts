import type { SpecialInformation } from '../../audio/tones/special-information-tones.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { EngineOptions, SessionRequest } from '../../engine/options.js';
import type { RemoteSession } from '../../engine/remote-line.js';
import type { CodecName } from '../../transports/rtp/media-codec.js';
import type { RtpStats } from '../../transports/rtp/media.js';
import type { Agreement } from '../../transports/rtp/negotiation.js';
import type { DoNotCallEntry } from '../../session/after-call/do-not-call.js';
import type { LogEntry } from '../../session/record/event-log.js';
import type { Consultation } from '../../session/line/line-actions.js';
import type { FinishedSession, Memory } from '../../session/after-call/memory.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { FunctionCall, SessionReport } from '../../session/record/session-report.js';
import type { KnowledgeQuery, Passage } from '../../tools/knowledge/knowledge.js';
import type { LineStats, TransferOutcome } from '../../transports/transport.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import type { WireError } from './rpc.js';

/** Options of an engine that can be made again in another thread. */
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
> & { turnModel?: string; recordings?: string };

/** What a media thread is started with. */
export interface ThreadSettings {
  options: PlainOptions;
  /** The file of the daemon's database: the thread reads it over a connection of its own. */
  database: string;
  /** Where event logs of sessions go; null = nowhere. */
  traces: { path: string; maxBytes: number } | null;
}

/** What cannot cross: who makes a session is asked for it, or told. */
type Own = 'transport' | 'vad' | 'stt' | 'llm' | 'tts' | 'mayTransfer' | 'consult' | 'outcome' | 'observe' | 'log';

/** What is known of a phone call's line and media where they are. */
export interface LineFacts {
  digitsSent: string;
  digitsReceived: string;
  line: LineStats;
  /** Null before they were open. */
  media: RtpStats | null;
}

/** A session as it is asked for from another thread. */
export type RemoteSessionRequest = Omit<SessionRequest, Own> & {
  id: string;
  agent: AgentConfig;
  /** What can be asked of whoever wants it. */
  asks: { mayTransfer: boolean; consult: boolean };
  /** Whether it gets every event and effect. */
  logs: boolean;
};

/** What a media thread does when the main thread asks or tells it to. */
export type ThreadMethods = {
  /** Loads the engines. Resolves to those that could not be reached, as `Engine.warmUp`. */
  warmUp: (nothing: null) => Promise<readonly string[]>;
  openWebRtc: (line: { line: string; peers: PeerSettings }) => Promise<void>;
  /** Resolves to the answer. */
  answerOffer: (offer: { line: string; sdp: string }) => Promise<string>;
  closeLine: (line: string) => Promise<void>;
  /** A phone call's line; the media come later. */
  openCall: (call: { line: string; rateHz: number }) => void;
  /** A socket for its media. Resolves to its port. */
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
  /** What is known of a call; where it is the last, it stays like that. */
  callFacts: (of: { line: string; areLast: boolean }) => Promise<LineFacts>;
  closeMedia: (line: string) => Promise<RtpStats>;
  bridge: (what: { bridge: string; first: string; second: string }) => void;
  unbridge: (bridge: string) => void;
  openSession: (
    wanted: { line: string; request: RemoteSessionRequest },
    signal: AbortSignal,
  ) => Promise<RemoteSession['record']>;
  runSession: (session: string) => void;
  closeSession: (session: string) => void;
  say: (what: { session: string; text: string }) => void;
  sendText: (what: { session: string; text: string }) => void;
  finish: (what: { session: string; target: string | null }) => void;
  noteFault: (what: { session: string; name: string; reason: string }) => void;
  /** Resolves when what has happened so far in a session is in the file of its log. */
  flushTrace: (session: string) => Promise<void>;
  /** Ends its sessions and frees everything. */
  close: (nothing: null) => Promise<void>;
};

/** What the main thread does when a media thread asks or tells it to. */
export type MainMethods = {
  connected: (line: string) => void;
  notConnected: (what: { line: string; error: WireError }) => void;
  /** The agent has left a phone call. */
  lineLeft: (what: { line: string; facts: LineFacts }) => void;
  mediaLost: (what: { line: string; error: WireError }) => void;
  mediaAnnounced: (what: { line: string; what: SpecialInformation }) => void;
  transfer: (what: { line: string; target: string }, signal: AbortSignal) => Promise<TransferOutcome>;
  event: (what: { session: string; event: Exclude<SessionEvent, { type: 'ended' }> }) => void;
  log: (what: { session: string; entry: LogEntry }) => void;
  finished: (report: SessionReport) => void;
  mayTransfer: (what: { session: string; target: string }) => Promise<string | null>;
  consult: (what: { session: string; about: Consultation }, signal: AbortSignal) => Promise<TransferOutcome>;
  doNotCall: (entry: DoNotCallEntry) => void;
  remember: (session: FinishedSession) => void;
  knownFiles: (ids: readonly string[]) => Promise<string[]>;
  filesOf: (agentId: string) => Promise<string[]>;
  search: (query: Omit<KnowledgeQuery, 'signal'>, signal: AbortSignal) => Promise<Passage[]>;
  recall: (of: { agentId: string; user: string; limit: number }) => Promise<readonly Memory[]>;
  keepMemory: (memory: Memory) => Promise<void>;
  /** As `AfterCallMarks`. */
  startAfterCall: (what: { session: string; name: string }) => Promise<boolean>;
  finishAfterCall: (what: { session: string; call: FunctionCall }) => Promise<void>;
  /** A notification that it got has failed. */
  fault: (error: WireError) => void;
  mcpFault: (what: { server: string; reason: string }) => void;
};
