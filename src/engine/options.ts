import type { PronunciationSettings } from '../agent/extensions/pronunciation.js';
import type { Clock } from '../base/clock.js';
import type { AgentConfig } from '../agent/agent.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';
import type { ChatMessage, ToolSpec } from '../agent/chat.js';
import type { SessionContinuation } from '../agent/continuation.js';
import type { Failover } from '../settings/failover.js';
import type { GivenModels, ModelRoutes } from '../settings/models.js';
import type { AgentDefaults } from '../agent/resolve.js';
import type { McpServerSetting, VoiceSubstitute } from '../settings/setting-items.js';
import type { GivenVendors, Vendors } from '../settings/vendor-settings.js';
import type { EndpointingConfig } from '../agent/flow/turn-taking.js';
import type { LlmProvider, ResponseFormat } from '../providers/llm/llm.js';
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
import type { EarlySpeculation } from './speculation-budget.js';
import type { OutboxStore } from '../tools/outbox.js';
import type { Knowledge } from '../tools/knowledge/knowledge.js';
import type { McpTokenSource } from '../tools/mcp/oauth/grant.js';
import type { ServiceAddress } from '../tools/service-webhook.js';
import type { DefinedTool } from '../tools/define-tool.js';
import type { ToolInterceptor } from '../tools/tool.js';
import type { EnginePlugin } from './plugin.js';
import type { Transport } from '../transports/transport.js';

export interface EngineOptions {
  /** Default a RealClock. A VirtualClock refuses providers that cannot run in virtual time. */
  clock?: Clock;
  /** Values of the fields that an agent leaves unset. Default: the embedded engines. */
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
  /** Prepare answers at a likely pause, before the turn is over. Default true. */
  speculation?: boolean;
  /** The budget for answers that are begun while the user still speaks. */
  earlySpeculation?: EarlySpeculation;
  /**
   * Silence that ends a turn, in ms: after complete words, and after any words. Equal values make a fixed wait. Default
   * 240 and 1800.
   */
  endpointing?: Partial<Pick<EndpointingConfig, 'minSilenceMs' | 'maxSilenceMs'>>;
  /**
   * An audio model that listens for the end of a turn: the embedder's own, the path of an ONNX file, or the name of one of
   * `localModels`. Default none.
   */
  turnModel?: TurnModel | string;
  /**
   * Whether event logs note the prosody before each of the users' pauses, to train a turn model; never of sessions that
   * opted out. Ask for consent where the law wants it. Default false.
   */
  pauseFeatures?: boolean;
  /** Models on this machine for the providers `sherpa`, and the use of each. Default none. */
  localModels?: LocalModelsOptions;
  /** Functions, providers and more of the embedder's own, which agents name. Default none. */
  plugins?: readonly EnginePlugin[];
  /** Private origins or full addresses that agents may call. Default none. */
  allowUrls?: readonly string[];
  /** Where calls of service functions of the type `webhook` go, by the function's name. Default: to the user's client. */
  serviceWebhooks?: Readonly<Record<string, ServiceAddress>>;
  /** Where recordings go: a folder, or the embedder's own sink. Default none: agents that record are refused. */
  recordings?: RecordingSink | string;
  /** Folder that caches downloaded backgrounds. Default none: each process downloads them again. */
  mediaCacheDir?: string;
  /** Roots of the APIs of apps in place of the public ones, by the app's name. */
  appBaseUrls?: Readonly<Record<string, string>>;
  /** MCP servers whose tools agents get. The server's name is the prefix of its tools' names. */
  mcpServers?: Readonly<Record<string, McpServerSetting>>;
  /** Access tokens for MCP servers with OAuth. Default: in memory, by client credentials only. */
  mcpTokens?: McpTokenSource;
  /** Called when an MCP server cannot be reached or has closed its connection. The engine tries again. */
  onMcpFault?: (server: string, reason: string) => void;
  /** Gets each fault of a chat that did not end it, such as `tool.failed`. Default: not called. */
  onChatFault?: (chat: { sessionId: string; agentId: string | null }, name: string, reason: string) => void;
  /** Called when a vendor accepts a key that it refused during `warmUp`. */
  onProviderAccepted?: (provider: string) => void;
  /** Signs the messages to `session_data_webhook`s: `whsec_` and base64. Default: no signature. */
  webhookSecret?: string;
  /** Stores these messages until they are delivered. Default: in memory, for the life of the process. */
  outboxStore?: OutboxStore;
  /** Called when the engine gives up the delivery of such a message. */
  onWebhookLost?: (sessionId: string, reason: string) => void;
  /** The knowledge base; the engine does not close it. Default none: agents with files are refused. */
  knowledge?: Knowledge;
  /** What agents remember of their users. Default: in memory, for the life of the process. */
  memories?: MemoryStore;
  /** Stores a history item of each finished session. Default: none is stored. */
  history?: CallHistory;
  /** Stores sessions until their after-call work is done, so that a crash loses none. Default: none are stored. */
  unfinished?: UnfinishedSessions;
  /** Default: those of `unfinished`. */
  afterCallMarks?: AfterCallMarks;
  /** Records finished sessions. Default: in `history`, and by the agents' webhooks. */
  recorder?: Recorder;
  /** Stores the event log of every session. Default: none is stored. */
  traces?: SessionTraces | undefined;
  /** Voices with names of their own, which agents can use. Default none. */
  voices?: CustomVoices;
  /** The agents to whom others may hand conversations over. Default: only those that a request gives. */
  agents?: AgentSource;
  /** Numbers that agents do not call. Default: a list in memory. */
  doNotCall?: DoNotCallList;
  /** The messages of finished sessions. Default: the latest ones, in memory. */
  sessionMemory?: SessionMemory;
  /** Longest prompt of an agent in characters. Default 100,000. */
  maxPromptChars?: number;
  /** Largest reply of a tool's webhook in bytes. Default 65,536. */
  maxToolReplyBytes?: number;
}

/** Options as the engine works with them. `models`, `vendors` and `doNotCall` are always present. */
export interface EngineParts extends EngineOptions {
  models: ModelRoutes;
  vendors: Vendors;
  doNotCall: DoNotCallList;
}

/** Voices with names of their own. The engine looks an agent's `voice: {provider, voice_id}` up here first. */
export interface CustomVoices {
  /** Null = not one of these: `voiceId` is the provider's own. */
  find(provider: string, voiceId: string): CustomVoice | null;
}

/** A provider's voice, with the model and settings for agents that set none. */
export interface CustomVoice {
  /** The provider's own name of it. */
  readonly baseVoiceId: string;
  /** Null = the provider's. */
  readonly model: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Another agent, to whom one may hand a conversation over. */
export interface NamedAgent {
  name: string;
  agent: AgentConfig;
  extensions?: AgentExtensions | null | undefined;
  script?: unknown;
  /** Functions in code in addition to its own tools. Default none. */
  tools?: readonly DefinedTool[] | null | undefined;
}

/** Agents by id, such as those of a database. */
export interface AgentSource {
  /** Null = there is none. */
  get(id: string): Promise<NamedAgent | null>;
}

export interface AgentRequest {
  /** Checked as `parseAgentConfig` does. */
  agent: AgentConfig;
  /** What the agent has beside its configuration. Default none. */
  extensions?: AgentExtensions | null | undefined;
  /** Rules of the scripted model, see docs/agent-scripts.md. If another model answers, they are its fallback. */
  script?: unknown;
  /**
   * The agents to whom this one may hand over (`extensions.handover`), by id, and those to whom they may. Default: those of
   * `EngineOptions.agents`.
   */
  agents?: Readonly<Record<string, NamedAgent>> | null | undefined;
  /** Providers of the embedder's own in place of what the agent names. */
  vad?: VadProvider | undefined;
  stt?: SttProvider | undefined;
  llm?: LlmProvider | undefined;
  tts?: TtsProvider | undefined;
  /** Functions in code that the model can call, in addition to the agent's own tools. Default none. */
  tools?: readonly DefinedTool[] | null | undefined;
  /** Runs the calls of the agent's tools in their place, such as mocks in a test. Default: the tools run. */
  interceptTool?: ToolInterceptor | null | undefined;
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
  /** The session that this one continues. Default none. */
  continuation?: SessionContinuation | null | undefined;
  /** The reason why the call must not be transferred to a number; null = it may. Default: all transfers are allowed. */
  mayTransfer?: MayTransfer | null | undefined;
  /** Asks a person to take the call, and connects the two. Default: attended transfers fail. */
  consult?: Consult | null | undefined;
  /** Ids for the call's history. Default none. */
  callId?: string | null | undefined;
  campaignId?: string | null | undefined;
  /** How the phone call of this session ended; called when the session is over. Default: no phone call. */
  outcome?: (() => Promise<CallOutcome>) | null | undefined;
  observe?: ((event: SessionEvent) => void) | null | undefined;
  log?: LogSink | null | undefined;
}

/** A whole conversation in writing. The agent answers it. */
export interface ChatRequest extends Omit<AgentRequest, 'vad' | 'stt' | 'tts' | 'phones'> {
  /** The messages so far. None: the agent opens the conversation. */
  messages: readonly ChatMessage[];
  /**
   * The conversation is over with this answer, or with the agent's last message: functions with `run_after_call` run, it
   * is remembered, kept in the history and sent to `session_data_webhook`. Default false: nothing of it is kept.
   */
  endOfSession?: boolean | null | undefined;
  /** Texts for the model behind the agent's own prompt. Default none. */
  context?: string | null | undefined;
  /** Default: as the agent is set. */
  form?: ReplyForm | null | undefined;
  /** Default a random UUID. */
  id?: string | null | undefined;
  /** Stops the model and the tools at once. After-call work still runs. */
  signal: AbortSignal;
}

/** What a client of a chat asks of the answer. */
export interface ReplyForm {
  /**
   * Tools of the client. A call of one ends the answer; its result comes with the next request. Their names must not be
   * those of the agent's tools. Default none.
   */
  clientTools?: readonly ToolSpec[] | null | undefined;
  /** The answer begins with a call of this tool of the client. Default: the model chooses. */
  requiredTool?: string | null | undefined;
  /** 0 to 2. Default the agent's. */
  temperature?: number | null | undefined;
  /** Seed of the model's sampling, for servers that take one. Default none. */
  seed?: number | null | undefined;
  /** Longest reply of the model in tokens; models that know no such limit ignore it. Default the model's own. */
  maxTokens?: number | null | undefined;
  /** The answer ends before the first of these sequences. Default none. */
  stop?: readonly string[] | null | undefined;
  /** Refused if the model has no such forms. Default: text. */
  responseFormat?: ResponseFormat | null | undefined;
}

/** A question to one of the engine's language models, outside any session. */
export interface CompletionRequest {
  /** A model id of the engine. */
  model: string;
  /** At least one. */
  messages: readonly ChatMessage[];
  /** Tools that the model may call; the caller carries them out. Default none. */
  tools?: readonly ToolSpec[] | null | undefined;
  /** The reply must be a single call of this tool. Default: the model chooses. */
  requiredTool?: string | null | undefined;
  /** 0 to 2. Default 0. */
  temperature?: number | null | undefined;
  /** Seed of the model's sampling, for servers that take one. Default none. */
  seed?: number | null | undefined;
  /** Longest wait for the next piece, in ms. Default: the provider's own, 8 to 15 s, which suits conversations. */
  pieceTimeoutMs?: number | null | undefined;
  /** Whether the model's fallbacks may answer in its place. Default true. */
  fallbacks?: boolean | null | undefined;
  signal: AbortSignal;
}

/** A text to speak outside any session, such as the preview of a voice. */
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
  /** How words are said. Default: as the voice does. */
  pronunciation?: PronunciationSettings | null | undefined;
  signal: AbortSignal;
}

/** A voice of one of the engine's providers. */
export interface EngineVoice extends TtsVoice {
  provider: string;
}

/** Mono audio. */
export interface Speech {
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
}
