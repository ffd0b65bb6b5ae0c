import type { Clock } from '../base/clock.js';
import type { AgentConfig } from '../agent/agent.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';
import type { ChatMessage } from '../agent/chat.js';
import type { SessionContinuation } from '../agent/continuation.js';
import type { Failover } from '../settings/failover.js';
import type { GivenModels, ModelRoutes } from '../settings/models.js';
import type { AgentDefaults } from '../agent/resolve.js';
import type { McpServerSetting, VoiceSubstitute } from '../settings/setting-items.js';
import type { GivenVendors, Vendors } from '../settings/vendor-settings.js';
import type { EndpointingConfig } from '../agent/flow/turn-taking.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import type { LocalModelsOptions } from '../providers/local/local-models.js';
import type { SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider, TtsVoice } from '../providers/tts/tts.js';
import type { TurnModel } from '../providers/turn/turn.js';
import type { VadProvider } from '../providers/vad/vad.js';
import type { LogSink } from '../session/record/event-log.js';
import type { RecordingSink } from '../session/record/recording.js';
import type { AfterCallMarks } from '../session/after-call/after-call.js';
import type { CallHistory, Recorder } from './session-recorder.js';
import type { LanguageVendors } from './languages.js';
import type { UnfinishedSessions } from './unfinished-session.js';
import type { CallOutcome } from '../session/record/end-reason.js';
import type { Consult, MayTransfer } from '../session/line/line-actions.js';
import type { MemoryStore, SessionMemory } from '../session/after-call/memory.js';
import type { DoNotCallList } from '../session/after-call/do-not-call.js';
import type { SessionEvent } from '../session/session-options.js';
import type { SessionTraces } from '../session/record/trace-folder.js';
import type { OutboxStore } from '../tools/outbox.js';
import type { Knowledge } from '../tools/knowledge/knowledge.js';
import type { ServiceAddress } from '../tools/service-webhook.js';
import type { Transport } from '../transports/transport.js';

export interface EngineOptions {
  /** Default a RealClock. A VirtualClock refuses providers that cannot run in virtual time. */
  clock?: Clock;
  /** What an agent gets where it leaves the choice open. Default: the embedded engines. */
  defaults?: Partial<AgentDefaults>;
  /** Language models beside the scripted one, by id: `{ 'gpt-4o-mini': { apiKey } }`. */
  models?: GivenModels;
  /**
   * Keys and addresses of vendors of speech: `{ elevenlabs: { apiKey } }`. Default none: only the embedded providers can
   * be named. The library reads no environment variables.
   */
  vendors?: GivenVendors;
  /** Vendors for languages that the default providers lack, where an agent names no provider. Default none. */
  languageVendors?: LanguageVendors;
  /** The voice that replaces those of a provider, by the provider's name. Default none. */
  voiceSubstitutes?: Readonly<Record<string, VoiceSubstitute>>;
  /** Fallbacks of an agent's providers, in order. Default: none but the agent's own script for its model. */
  failover?: Failover;
  /** Voice activity detection: `silero` (default), `silero-gated` or `webrtc`. */
  vad?: string;
  /** Answers begin at a likely pause, before it is certain that the user has finished. Default true. */
  speculation?: boolean;
  /**
   * Silence that ends a turn, in ms: of words that are surely complete, and of any. Alike, they make a fixed wait that no
   * word changes. Default 240 and 1800.
   */
  endpointing?: Partial<Pick<EndpointingConfig, 'minSilenceMs' | 'maxSilenceMs'>>;
  /**
   * An audio model that listens for the end of a turn: the embedder's own, the path of an ONNX file, or the name of one of
   * `localModels`. Default none.
   */
  turnModel?: TurnModel | string;
  /** Models on this machine that the providers `sherpa` run, and which of them is taken for what. Default none. */
  localModels?: LocalModelsOptions;
  /** Origins or full addresses that agents may call though they are private. */
  allowUrls?: readonly string[];
  /** Where calls of service functions of the type `webhook` go, by the function's name. Default: to the user's client. */
  serviceWebhooks?: Readonly<Record<string, ServiceAddress>>;
  /** Where recordings go: a folder, or something of the embedder's. Default nowhere: agents that ask for them are refused. */
  recordings?: RecordingSink | string;
  /** Folder in which fetched backgrounds are kept. Default none: they are fetched anew by each process. */
  mediaCacheDir?: string;
  /** Roots of the APIs of apps in place of the public ones, by the app's name. */
  appBaseUrls?: Readonly<Record<string, string>>;
  /** MCP servers whose tools agents get, by the name in front of these. */
  mcpServers?: Readonly<Record<string, McpServerSetting>>;
  /** An MCP server cannot be reached, or has gone; it is tried again. */
  onMcpFault?: (server: string, reason: string) => void;
  /** A vendor that refused the key when the engine was warmed up accepts it again. */
  onProviderAccepted?: (provider: string) => void;
  /** Signs what `session_data_webhook`s are sent: `whsec_` and base64. Default: it is not signed. */
  webhookSecret?: string;
  /** Where that is kept until it has arrived. Default: in memory, as long as the process lives. */
  outboxStore?: OutboxStore;
  /** A message to a `session_data_webhook` was given up. */
  onWebhookLost?: (sessionId: string, reason: string) => void;
  /** What agents can look things up in; the engine does not close it. Default nothing: agents with files are refused. */
  knowledge?: Knowledge;
  /** What agents remember of their users. Default: in memory, as long as the process lives. */
  memories?: MemoryStore;
  /** Keeps a history item of each session that is over. Default: none is kept. */
  history?: CallHistory;
  /** Keeps sessions until all that follows them is done, so that a process that dies loses none. Default: none are kept. */
  unfinished?: UnfinishedSessions;
  /** Default: those of `unfinished`. */
  afterCallMarks?: AfterCallMarks;
  /** Records sessions when they are over. Default: in `history`, and by the agents' webhooks. */
  recorder?: Recorder;
  /** Keeps the event log of every session. Default: none is kept. */
  traces?: SessionTraces;
  /** Voices under names of their own, for agents to name. Default none. */
  voices?: CustomVoices;
  /** Numbers that agents do not call. Default: a list that lasts as long as the engine. */
  doNotCall?: DoNotCallList;
  /** What was said in sessions that are over. Default: the latest ones, as long as the engine lasts. */
  sessionMemory?: SessionMemory;
  /** Longest prompt of an agent in characters. Default 100,000. */
  maxPromptChars?: number;
  /** Largest reply of a tool's webhook in bytes. Default 65,536. */
  maxToolReplyBytes?: number;
}

/** Options as the engine works with them. */
export interface EngineParts extends EngineOptions {
  models?: ModelRoutes;
  vendors?: Vendors;
}

/** Voices under names of their own: an agent's `voice: {provider, voice_id}` is looked for here first. */
export interface CustomVoices {
  /** Null where it is none of these: then it is the provider's own. */
  find(provider: string, voiceId: string): CustomVoice | null;
}

/** A provider's voice, with what it is spoken with where the agent says nothing else. */
export interface CustomVoice {
  /** The provider's own name of it. */
  readonly baseVoiceId: string;
  /** Null = the provider's. */
  readonly model: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface AgentRequest {
  /** Checked as `parseAgentConfig` does. */
  agent: AgentConfig;
  /** What the agent has beside its configuration. Default none. */
  extensions?: AgentExtensions | null | undefined;
  /** Rules of the scripted model, see docs/agent-scripts.md. Where another model answers, they are its fallback. */
  script?: unknown;
  /** Providers of the embedder's own in place of what the agent names. */
  vad?: VadProvider | undefined;
  stt?: SttProvider | undefined;
  llm?: LlmProvider | undefined;
  tts?: TtsProvider | undefined;
  metadata?: Readonly<Record<string, unknown>> | null | undefined;
  /** Default false. */
  includeMetadataInPrompt?: boolean | null | undefined;
  /** The agent's own id, for webhooks and the call's history. Default none. */
  agentId?: string | null | undefined;
  /** The two ends of a phone call: the variables `{FromPhone}` and `{ToPhone}`. */
  phones?: { readonly from: string; readonly to: string } | null | undefined;
}

/** How a conversation is held: spoken on a line, or in writing. */
export type Medium = 'line' | 'writing';

export interface SessionRequest<Line = Transport> extends AgentRequest {
  /** A line in this thread, or a RemoteLine. */
  transport: Line;
  /** `outbound`: the agent has called, and a machine may answer. Default `inbound`. */
  direction?: 'inbound' | 'outbound' | null | undefined;
  /** Default a random UUID. */
  id?: string | null | undefined;
  /** The time that the conversation begins, in milliseconds since 1970. Default now. */
  startUnixMs?: number | null | undefined;
  /** What it goes on from. Default: nothing. */
  continuation?: SessionContinuation | null | undefined;
  /** Why the call must not be handed on to somebody; null = it may. Default: it may, to anybody. */
  mayTransfer?: MayTransfer | null | undefined;
  /** Asks somebody whether they take the call, and connects the two. Default: attended transfers fail. */
  consult?: Consult | null | undefined;
  /** Ids for the call's history. Default none. */
  callId?: string | null | undefined;
  campaignId?: string | null | undefined;
  /** How the phone call of this session ended; asked when the session is over. Default: it has none. */
  outcome?: (() => Promise<CallOutcome>) | null | undefined;
  observe?: ((event: SessionEvent) => void) | null | undefined;
  log?: LogSink | null | undefined;
}

/** A conversation in writing, whole, that is to be answered. */
export interface ChatRequest extends Omit<AgentRequest, 'vad' | 'stt' | 'tts' | 'phones'> {
  /** What was said so far. None: the agent opens as it would a spoken conversation. */
  messages: readonly ChatMessage[];
  /**
   * The conversation is over with this answer, or with the agent's last message: functions with `run_after_call` run, it
   * is remembered, kept in the history and sent to `session_data_webhook`. Default false: nothing of it is kept.
   */
  endOfSession?: boolean | null | undefined;
  /** Default a random UUID. */
  id?: string | null | undefined;
  /** Breaks off the model and the tools at once; what comes after the end of a session is still done. */
  signal: AbortSignal;
}

/** A text that is spoken outside any session, such as the preview of a voice. */
export interface SpeechRequest {
  text: string;
  /** A TTS provider by its registered name. Default the engine's. */
  provider?: string | null | undefined;
  /** The provider's own name of a voice. Default its voice for the language. */
  voiceId?: string | null | undefined;
  /** Default the provider's. */
  model?: string | null | undefined;
  /** The provider's own. Default none. */
  settings?: Readonly<Record<string, unknown>> | null | undefined;
  /** Default the engine's. */
  language?: string | null | undefined;
  signal: AbortSignal;
}

/** A voice that a provider of the engine's has. */
export interface EngineVoice extends TtsVoice {
  provider: string;
}

/** Mono audio. */
export interface Speech {
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
}
