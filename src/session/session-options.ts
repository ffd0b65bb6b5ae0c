import type { Denoising } from '../audio/dsp/denoiser.js';
import type { Clock } from '../base/clock.js';
import type { Ticker } from '../base/ticker.js';
import type { ToolCall } from '../agent/chat.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import type { ProviderOutcome } from '../providers/outcome.js';
import type { SpeechHints, SttOptions, SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { TurnModel } from '../providers/turn/turn.js';
import type { VadProvider } from '../providers/vad/vad.js';
import type { Toolbox } from '../tools/tool.js';
import type { TranscriptMessage, Transport } from '../transports/transport.js';
import type { AfterCallMarks } from './after-call/after-call.js';
import type { LogSink } from './record/event-log.js';
import type { Consult, MayTransfer } from './line/line-actions.js';
import type { Languages } from './hearing/language-providers.js';
import type { MemoryKeeper } from './after-call/memory.js';
import type { Recording } from './record/recording.js';
import type { SessionReport } from './record/session-report.js';
import type { TurnMetrics } from './record/session-metrics.js';

export interface SessionOptions {
  id: string;
  conversation: ConversationConfig;
  transport: Transport;
  vad: VadProvider;
  /** Takes noise out of what is heard. Default: it is heard as it is. */
  denoising?: Denoising;
  /** Probability from which audio is speech, 0..1. Default 0.5. */
  vadThreshold?: number;
  stt: SttProvider;
  hints?: SpeechHints;
  /** What is listened for at first. Default the conversation's language. */
  startLanguage?: string;
  sttOptions?: Pick<SttOptions, 'model' | 'multilingual'>;
  /** Languages that the session may change to. Default none. */
  languages?: Languages | null | undefined;
  /** Listens for the end of a turn, beside the words. Default none. */
  turnModel?: TurnModel | null | undefined;
  llm: LlmProvider;
  model: string;
  /** 0..2, default 0. */
  temperature?: number;
  tts: TtsProvider;
  voice?: { voiceId?: string | null; model?: string | null; settings?: Readonly<Record<string, unknown>> };
  toolbox?: Toolbox;
  metadata?: Readonly<Record<string, unknown>>;
  /** Why the call must not be handed on to somebody; null = it may. Default: it may, to anybody. */
  mayTransfer?: MayTransfer | null | undefined;
  /** Asks somebody whether they take the call. Default: attended transfers fail. */
  consult?: Consult | null | undefined;
  /** Default none: what runs after the session runs as often as it is asked to. */
  afterCallMarks?: AfterCallMarks | null | undefined;
  /** Where it leaves what it established of its user. Default nowhere. */
  memory?: MemoryKeeper | null | undefined;
  /** What records the session: closed with it, named in its report. Its `line` is the `transport`. */
  recording?: Pick<Recording, 'path' | 'close'> | null | undefined;
  clock: Clock;
  ticker: Ticker;
  /** Nothing that is said may be kept: the log and the report have times and kinds only. Default false. */
  optOut?: boolean;
  /** Answers for the model from outside, and is told what happens. Default none. */
  participant?: Participant | null | undefined;
  /** Puts the user on the do-not-call list. Default: the request is in the report alone. */
  listDoNotCall?: ((by: 'rule' | 'model') => void) | null | undefined;
  /** Gets every event and effect, see LogEntry. */
  log?: LogSink | null | undefined;
  /** What embedders and daemons watch. A listener that throws is noted in the log and otherwise ignored. */
  observe?: ((event: SessionEvent) => void) | null | undefined;
}

/** Who answers for the model from outside. It is told the texts also where nothing may be kept, and keeps nothing. */
export interface Participant {
  /** The session has begun. */
  start(): void;
  /** The user says this; an interim text replaces the one before. */
  heard(text: string, isFinal: boolean): void;
  /** The model's answer is complete. What is left of it is spoken in the same step. */
  answered(): void;
  /** An utterance of the model's answer will be spoken. */
  speaks(utteranceId: number): void;
  /** An utterance is over. */
  spoke(utteranceId: number): void;
  /** Everything that was not played is dropped. */
  dropped(): void;
}

export type SessionEvent =
  | ({ type: 'transcript' } & TranscriptMessage)
  /** A turn is answered. The same `turn` again: it had not been over, and this is all of it. */
  | { type: 'user'; text: string; turn: number }
  | { type: 'agent'; text: string }
  /** `who` begins or ceases to be heard: the user by the VAD, the agent by what goes to the line. */
  | { type: 'speaking'; who: 'user' | 'agent'; isSpeaking: boolean }
  /** The user has interrupted the agent, who drops the rest of its answer. */
  | { type: 'interrupted' }
  /** A tool begins to run; `tool` follows when it is done, unless the call ends before. */
  | { type: 'toolStarted'; call: ToolCall }
  | { type: 'tool'; call: ToolCall; ok: boolean; result: string; tookMs: number }
  /** The first audio of an answer went to the line. */
  | { type: 'answered'; metrics: TurnMetrics }
  /** The outcome of a request or a stretch of speech, for each provider and fallback. */
  | ({ type: 'provider'; stage: 'stt' | 'llm' | 'tts' } & ProviderOutcome)
  /** A fault that the session goes on in spite of, as the report's `faults` and `faultReasons` have it. */
  | { type: 'fault'; name: string; reason: string }
  /** Nothing comes after it. */
  | { type: 'ended'; report: SessionReport };
