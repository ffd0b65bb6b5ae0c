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
export type { SessionHandle as Session } from './engine/remote-line.js';
export type { SessionEvent, SessionOptions } from './session/session-options.js';
export type { FunctionCall, SessionReport, TransferAttempt } from './session/record/session-report.js';
export type { LatencySummary, Percentiles } from './session/record/session-metrics.js';
export type { PlayoutStats } from './session/speech/playout.js';
export type { TurnMetrics } from './session/record/session-metrics.js';
export type { RecordingFile, RecordingSink } from './session/record/recording.js';
export { recordingFolder } from './session/record/recording.js';
export type { DoNotCallEntry, DoNotCallList } from './session/after-call/do-not-call.js';
export type { FinishedSession, SessionMemory } from './session/after-call/memory.js';
export type { SessionContinuation } from './agent/continuation.js';
export type { LogEntry, LogSink } from './session/record/event-log.js';
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
} from './telephony/carriers/carrier.js';
export { Switchboard, type CallAgent, type OutboundCall, type Route } from './telephony/calls/switchboard.js';
export type { AgentCall, CallReport } from './telephony/calls/agent-call.js';
export type { CallEndStatus, CallStatus } from './telephony/calls/call-status.js';
export { simulatedCarrier, type SimulatedCarrierOptions } from './telephony/carriers/simulated/open.js';
export type { SimulatedNetwork } from './telephony/carriers/simulated/network.js';
export type { Clock, Cancel } from './base/clock.js';
export { RealClock } from './base/real-clock.js';
export { VirtualClock } from './base/virtual-clock.js';
export { Ticker } from './base/ticker.js';
export type { VadDetector, VadProvider } from './providers/vad/vad.js';
export type { SpeechHints, SttEvents, SttOptions, SttProvider, SttStream, SttTranscript } from './providers/stt/stt.js';
export type { LlmPiece, LlmProvider, LlmRequest } from './providers/llm/llm.js';
export type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsWord } from './providers/tts/tts.js';
export type { AfterCallRun, ClientForm, Screen, Toolbox, ToolContext, ToolResult } from './tools/tool.js';
export type { Delivery, OutboxStore } from './tools/outbox.js';
export type { CallHistoryItem, CallOutcome } from './session/record/call-history.js';
export { KnowledgeBase, type KnowledgeBaseOptions } from './store/knowledge.js';
export type { Knowledge, KnowledgeFile, KnowledgeQuery, Passage } from './tools/knowledge/knowledge.js';
export type { Memory, MemoryStore } from './session/after-call/memory.js';
export type { ChatMessage, ToolCall, ToolSpec } from './agent/chat.js';
export type { AgentConfig } from './agent/agent.js';
export type { AgentFile } from './agent/agent-file.js';
export { loadAgentFile, parseAgentConfig } from './engine/agents.js';
export { decodeWav, encodeWav, type WavAudio } from './audio/files/wav.js';
export { resample, Resampler } from './audio/dsp/resample.js';
export { ParleyError, type ErrorCode } from './base/errors.js';
