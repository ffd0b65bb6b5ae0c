/** parley, the engine: what embedders import. The daemon is `@parley-voice/parley/daemon`, doubles and scenarios `@parley-voice/parley/testing`. */
export { Engine } from './engine/engine.js';
export type { ChatPiece } from './engine/chat.js';
export type {
  AgentRequest,
  ChatRequest,
  CompletionRequest,
  CustomVoice,
  CustomVoices,
  EngineOptions,
  EngineParts,
  EngineVoice,
  Medium,
  ReplyForm,
  SessionRequest,
  Speech,
  SpeechRequest,
  AgentSource,
  NamedAgent,
} from './engine/options.js';
export type { WaitingCaller, WaitingRequest } from './engine/waiting.js';
export type { WaitingEvents } from './session/line/waiting-line.js';
export type { EarlySpeculation, TokenPrice } from './engine/speculation-budget.js';
export type { RemoteLine, RemoteSession, SessionHandle as Session, SessionLine } from './engine/remote-line.js';
export type {
  AgentChanges,
  AgentTool,
  ChangeAgent,
  ChangedAgent,
  Participant,
  SessionEvent,
  SessionOptions,
  OtherAgents,
  SessionAgent,
} from './session/session-options.js';
export type {
  Abortable,
  EndOptions,
  HoldOptions,
  PlainCommand,
  ReplyOptions,
  SayOptions,
  SessionCommand,
  SessionListener,
  SessionTransferOptions,
  Spoken,
  SteeredSession,
  SessionHandoverOptions,
} from './session/steered-session.js';
export type { TapFrame, TapOptions } from './session/tap.js';
export type {
  AddedRole,
  AgentSettings,
  CommandOf,
  CommandOutcome,
  CommandRefusal,
  CommandResult,
  ConversationCommand,
  LeaveReason,
  NewParticipant,
  ParticipantChanges,
  ParticipantMode,
  ParticipantRecord,
  ParticipantState,
  Side,
  SpeechTime,
  NextAgent,
  HandoverOrder,
} from './conversation/control/command.js';
export type { JoinedParticipant, JoinOptions } from './session/participants/joined.js';
export type { ListeningPeriod } from './conversation/control/listeners.js';
export type { FunctionCall, ReportParts, SessionReport, TransferAttempt } from './session/record/session-report.js';
export type { LatencySummary, Percentiles, SpeculationReport, TurnMetrics } from './session/record/session-metrics.js';
export type { PlayoutStats } from './session/record/session-report.js';
export type { Recording, RecordingFile, RecordingSink } from './session/record/recording.js';
export { recordingFolder } from './session/record/recording-folder.js';
export type { DoNotCallEntry, DoNotCallList } from './session/after-call/do-not-call.js';
export type { FinishedSession, Memory, MemoryKeeper, MemoryStore, SessionMemory } from './session/after-call/memory.js';
export type { SessionContinuation } from './agent/continuation.js';
export type { LogEntry, LogSink, NoteData } from './session/record/event-log.js';
export { Conversation } from './conversation/conversation.js';
export type { AgentRef, HandoverConfig, HandoverContext, HandoverTarget } from './agent/flow/handover.js';
export { DEFAULT_CONVERSATION, type ConversationConfig } from './agent/flow/conversation-config.js';
export type {
  AttendedTransfer,
  ConversationEffect,
  ConversationEvent,
  EndStatus,
  PlayoutPosition,
  UtteranceKind,
} from './conversation/events.js';
export type {
  LineStats,
  SoundGoesOn,
  TranscriptMessage,
  TransferFailure,
  PlaceInQueue,
  TransferOutcome,
  Transport,
  TransportMessage,
  TransportSink,
  TurnTimes,
} from './transports/transport.js';
export { FileTransport, type FileTransportOptions } from './transports/file.js';
export { MemoryTransport, type MemoryTransportOptions } from './transports/memory.js';
export type {
  CallEnd,
  CallEndCause,
  CallRecord,
  CallRefusal,
  CallRequest,
  CallState,
  Carrier,
  CarrierCall,
  NumberOffer,
  NumberQuery,
} from './telephony/carriers/carrier.js';
export { Switchboard, type OutboundCall, type Route } from './telephony/calls/switchboard.js';
export type { CallAgent } from './telephony/calls/call-agent.js';
export type { AgentCall, AgentCallOptions, CallReport, OnStatus } from './telephony/calls/agent-call.js';
export type { CallEndStatus, CallProgress, CallStatus } from './telephony/calls/call-status.js';
export { simulatedCarrier, type SimulatedCarrierOptions } from './telephony/carriers/simulated/open.js';
export type { SimulatedNetwork, SimulatedNetworkOptions } from './telephony/carriers/simulated/network.js';
export type { Clock, Cancel } from './base/clock.js';
export { RealClock } from './base/real-clock.js';
export { VirtualClock } from './base/virtual-clock.js';
export { Ticker } from './base/ticker.js';
export type { DetectorOptions, VadDetector, VadProvider } from './providers/vad/vad.js';
export type {
  SpeechHints,
  SttAbilities,
  SttEvents,
  SttOptions,
  SttProvider,
  SttStream,
  SttTranscript,
  SttWord,
} from './providers/stt/stt.js';
export type {
  LlmPiece,
  LlmProvider,
  LlmRequest,
  LlmUsage,
  LlmVoice,
  ReplyShape,
  ResponseFormat,
  SpeechModel,
  SpeechModelVoice,
  SpeechSession,
} from './providers/llm/llm.js';
export type { ProviderOutcome } from './providers/outcome.js';
export type { PronunciationSettings } from './agent/extensions/pronunciation.js';
export type { SpeechSpan } from './base/speech-markup.js';
export type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice, TtsWord } from './providers/tts/tts.js';
export type {
  AfterCallRun,
  AfterCallWatch,
  ClientForm,
  InterceptedCall,
  Screen,
  ToolContext,
  ToolInterceptor,
  ToolResult,
  Toolbox,
} from './tools/tool.js';
export { defineTool } from './tools/define-tool.js';
export type {
  DefinedTool,
  FunctionContext,
  FunctionOptions,
  StandardIssue,
  StandardResult,
  StandardSchema,
  ToolArguments,
  ToolDefinition,
  ToolParameters,
} from './tools/define-tool.js';
export type { ToolSession } from './tools/tool.js';
export { definePlugin } from './plugins/plugin.js';
export type {
  CarrierHost,
  CarrierMaker,
  OpenedTransport,
  ParleyPlugin,
  TransportHost,
  TransportMaker,
  TransportRequest,
} from './plugins/plugin.js';
export type { EnginePlugin, Maker } from './engine/plugin.js';
export type { McpGrant, McpRefusal, McpTokenSource } from './tools/mcp/oauth/grant.js';
export type { Delivery, OutboxStore } from './tools/outbox.js';
export type {
  CallFacts,
  CallHistoryItem,
  CallMetrics,
  CostItem,
  EvalCallFacts,
  HistoryFunctionCall,
  HistoryListener,
  HistoryParticipant,
  HistoryStep,
  LineMetrics,
  QueueExit,
  QueueFacts,
  HistoryAgent,
} from './session/record/call-history.js';
export type { CallOutcome } from './session/record/end-reason.js';
export { KnowledgeBase, type KnowledgeBaseOptions } from './store/knowledge.js';
export type {
  Knowledge,
  KnowledgeFile,
  KnowledgeLimits,
  KnowledgeQuery,
  Passage,
} from './tools/knowledge/knowledge.js';
export type { ChatMessage, ToolCall, ToolSpec } from './agent/chat.js';
export type { AgentConfig } from './agent/agent.js';
export type { ExpectedAnswer } from './agent/expected-answer.js';
export type { AgentFile, AgentBeside } from './agent/agent-file.js';
export { loadAgentFile, parseAgentConfig } from './engine/agents.js';
export { decodeWav, encodeWav, type WavAudio } from './audio/files/wav.js';
export { resample, Resampler } from './audio/dsp/resample.js';
export { ParleyError, type ErrorCode } from './base/errors.js';
export type { AgentExtensions } from './agent/extensions/extensions.js';
export type { DataValue, Flow, FlowData, StepsConfig, StepView } from './agent/flow/steps.js';
export type { DataToConfirm, StepPassed, StepsState, StepStay } from './conversation/steps/machine.js';
export type { OldPlaceWarning } from './agent/extensions/old-place.js';
export type { AgentDefaults } from './agent/resolve.js';
export type { WebhookAddress } from './agent/webhook.js';
export type { Denoiser, Denoising } from './audio/dsp/denoiser.js';
export type { WavReadOptions, WavWriteOptions } from './audio/files/wav.js';
export type { ErrorDetails, Failure } from './base/errors.js';
export type { TickListener, TickerOptions, TickerStats } from './base/ticker.js';
export type {
  AttendedTransferConfig,
  EndCallConfig,
  KeypadConfig,
  PauseRecordingConfig,
  TransferConfig,
  TransferTarget,
} from './agent/flow/actions.js';
export type {
  DeadlineConfig,
  HistoryConfig,
  LimitsConfig,
  SpeculationConfig,
  SwitchLanguageConfig,
  ToolSpeechConfig,
} from './agent/flow/conversation-config.js';
export type {
  EndpointingConfig,
  FillerConfig,
  InterruptionConfig,
  InactivityConfig,
  OpeningConfig,
} from './agent/flow/turn-taking.js';
export type { FlowSettings } from './agent/flow/flow.js';
export type { VoicemailConfig } from './agent/flow/voicemail.js';
export type {
  AddedEntry,
  Again,
  AskedReply,
  AssistantEntry,
  CallEntry,
  CommandedEnd,
  ConversationDeadlines,
  ConversationState,
  CutOff,
  DeadlineName,
  EndingState,
  HistoryEntry,
  InterruptionState,
  OpenCommand,
  ParticipantEntry,
  ReplyState,
  RunningTool,
  Segment,
  SpeculationState,
  SpeechState,
  SpokenPart,
  ToSay,
  TransferState,
  TurnState,
  UserEntry,
  Utterance,
  VoicemailState,
  Handover,
  HandoverState,
} from './conversation/state.js';
export type { AnnouncedEnd } from './conversation/voicemail/announcements.js';
export type { ReplyPiece } from './engine/chat-reply.js';
export type { LanguageVendors } from './engine/languages.js';
export type { CallHistory, RecordedSession, Recorder, SessionRecord } from './engine/session-recorder.js';
export type {
  LeftSession,
  UnfinishedChat,
  UnfinishedSession,
  UnfinishedSessions,
} from './engine/unfinished-session.js';
export type { AgentReview, AgentWarning } from './engine/warnings.js';
export type { LocalModelsOptions } from './providers/local/local-models.js';
export type { TurnModel, TurnRequest, TurnStream } from './providers/turn/turn.js';
export type { AfterCallMarks } from './session/after-call/after-call.js';
export type { LanguageProviders, Languages } from './session/hearing/language-providers.js';
export type { Consult, Consultation, MayTransfer } from './session/line/line-actions.js';
export type { SessionTrace, SessionTraces } from './session/record/trace-folder.js';
export type { AudioTokens, SessionUsage, UsedProvider, UsedTokens, AgentPeriod } from './session/record/usage.js';
export type { Failover } from './settings/failover.js';
export type { GivenModels, ModelEntry, ModelRoute, ModelRoutes } from './settings/models.js';
export type { McpServerSetting, VoiceSubstitute } from './settings/setting-items.js';
export type { GivenVendors, VendorAccess, VendorName, Vendors } from './settings/vendor-settings.js';
export type { NewFile } from './store/knowledge-protocol.js';
export type { OwnCall, OwnCalls, SwitchboardOptions } from './telephony/calls/switchboard.js';
export type { SimulatedCall } from './telephony/carriers/simulated/call.js';
export type { SimulatedNumber, ScriptStep as Step } from './telephony/carriers/simulated/script.js';
export type { EmbeddingRoute } from './tools/knowledge/embeddings.js';
export type { ServiceAddress } from './tools/service-webhook.js';
export { LOG_VERSION } from './session/record/event-log.js';
export type { Language } from './agent/language.js';
export type { WavEncoding } from './audio/files/wav-format.js';
export type { Location } from './schema/issues.js';
export type { SoundLibrary, SpeechMaker } from './telephony/carriers/simulated/sounds.js';
export type { MachinePhrase } from './conversation/voicemail/voicemail-phrases.js';
