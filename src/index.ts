/** parley, the engine: what embedders import. The daemon is `@parley-voice/parley/daemon`, doubles and scenarios `@parley-voice/parley/testing`. */
export { Engine } from './engine/engine.js';
export type { ChatPiece } from './engine/chat.js';
export type {
  AgentRequest,
  ChatRequest,
  CustomVoice,
  CustomVoices,
  EngineOptions,
  SessionRequest,
} from './engine/options.js';
export type { SessionHandle as Session } from './engine/line-elsewhere.js';
export type { SessionEvent, SessionOptions } from './session/session-options.js';
export type { FunctionCall, SessionReport, TransferAttempt } from './session/session-report.js';
export type { LatencySummary, Percentiles } from './session/latency.js';
export type { PlayoutStats } from './session/playout.js';
export type { TurnMetrics } from './session/turn-metrics.js';
export type { RecordingFile, RecordingSink } from './session/recording.js';
export { recordingFolder } from './session/recording-folder.js';
export type { DoNotCallEntry, DoNotCallList } from './session/do-not-call.js';
export type { FinishedSession, SessionMemory } from './session/session-memory.js';
export type { SessionContinuation } from './config/continuation.js';
export type { LogEntry, LogSink } from './session/event-log.js';
export { Conversation } from './conversation/conversation.js';
export { DEFAULT_CONVERSATION, type ConversationConfig } from './conversation/config.js';
export type { ConversationEffect, ConversationEvent, EndStatus, PlayoutPosition } from './conversation/events.js';
export type {
  TransferFailure,
  TransferOutcome,
  Transport,
  TransportMessage,
  TransportSink,
} from './transports/transport.js';
export { FileTransport, type FileTransportOptions } from './transports/file.js';
export { MemoryTransport, type MemoryTransportOptions } from './transports/memory.js';
export type {
  CallEnd,
  CallRecord,
  CallRequest,
  CallState,
  Carrier,
  CarrierCall,
  NumberOffer,
  NumberQuery,
} from './carriers/carrier.js';
export { Switchboard, type CallAgent, type OutboundCall, type Route } from './calls/switchboard.js';
export type { AgentCall, CallReport } from './calls/agent-call.js';
export type { CallEndStatus, CallStatus } from './calls/call-status.js';
export { simulatedCarrier, type SimulatedCarrierOptions } from './calls/simulated-carrier.js';
export type { SimulatedNetwork } from './carriers/simulated/network.js';
export type { Clock, Cancel } from './clock/clock.js';
export { RealClock } from './clock/real.js';
export { VirtualClock } from './clock/virtual.js';
export { Ticker } from './clock/ticker.js';
export type { VadDetector, VadProvider } from './providers/vad/vad.js';
export type { SpeechHints, SttEvents, SttOptions, SttProvider, SttStream, SttTranscript } from './providers/stt/stt.js';
export type { LlmPiece, LlmProvider, LlmRequest } from './providers/llm/llm.js';
export type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsWord } from './providers/tts/tts.js';
export type { AfterCallRun, ClientForm, Screen, Toolbox, ToolContext, ToolResult } from './tools/tool.js';
export type { Delivery, OutboxStore } from './tools/outbox.js';
export type { CallHistoryItem, CallOutcome } from './session/call-history.js';
export { KnowledgeBase, type KnowledgeBaseOptions } from './store/knowledge.js';
export type { Knowledge, KnowledgeFile, KnowledgeQuery, Passage } from './tools/knowledge/knowledge.js';
export type { Memory, MemoryStore } from './session/memory.js';
export type { ChatMessage, ToolCall, ToolSpec } from './config/chat.js';
export type { AgentConfig } from './config/agent.js';
export type { AgentFile } from './config/agent-file.js';
export { loadAgentFile, parseAgentConfig } from './engine/agents.js';
export { decodeWav, encodeWav, type WavAudio } from './audio/wav.js';
export { resample, Resampler } from './audio/resample.js';
export { ParleyError, type ErrorCode } from './errors.js';
