import type { Clock } from '../../base/clock.js';
import type { ChatMessage, ToolCall, ToolSpec } from '../../agent/chat.js';
import type { StepView } from '../../agent/flow/steps.js';
import type { SttProvider } from '../stt/stt.js';
import type { TtsProvider } from '../tts/tts.js';
import type { ProviderOutcome } from '../outcome.js';

/** A streaming language model. */
export interface LlmProvider {
  readonly name: string;
  /**
   * Whether a reply depends only on the request and its latency comes from a table, so that it works in virtual time.
   */
  readonly virtualTime: boolean;
  /** Whether it calls `onOutcome` of a request itself, because it combines several providers. Default false. */
  readonly tellsOutcomes?: boolean;
  /** Set for speech-to-speech models. `complete` then serves text requests. */
  readonly speech?: SpeechModel;
  /** What its requests may ask of a reply. Default: nothing. */
  readonly shapes?: readonly ReplyShape[];
  warmUp(): Promise<void>;
  /**
   * Streams one reply. Throws a ParleyError when the model fails, and the signal's reason when it is aborted; either
   * way no work continues in the background.
   */
  complete(request: LlmRequest): AsyncIterable<LlmPiece>;
  close(): Promise<void>;
}

/** What a request may ask of a reply beside its words; see `LlmRequest`. */
export type ReplyShape = 'maxTokens' | 'responseFormat';

/** The form of a reply, as OpenAI's `response_format` gives it. */
export type ResponseFormat =
  { type: 'json_object' } | { type: 'json_schema'; json_schema: Readonly<Record<string, unknown>> & { name: string } };

export interface LlmRequest {
  model: string;
  messages: readonly ChatMessage[];
  tools: readonly ToolSpec[];
  /** The present step of the agent's flow, for a model that follows it by rules; the messages say the same in words. */
  step?: StepView;
  /** The reply must be a single call of this tool, which the last message asks for. */
  requiredTool?: string;
  /** 0..2. */
  temperature: number;
  /** Seed of the sampling; models without one ignore it. Default none. */
  seed?: number;
  /** Longest reply in tokens; only for a provider that `shapes` it. Default: the provider's own. */
  maxTokens?: number;
  /** Only for a provider that `shapes` it. Default: text. */
  responseFormat?: ResponseFormat;
  /** Longest wait for the next piece, in ms. Default: the provider's own, which suits conversations. */
  pieceTimeoutMs?: number;
  clock: Clock;
  signal: AbortSignal;
  /** Called by those that set `tellsOutcomes`, for each provider that was asked. */
  onOutcome?: (outcome: ProviderOutcome) => void;
}

export type LlmPiece =
  /** `flush`: speak the text so far even if the sentence is incomplete; `pauseMs`: with this much silence after it. */
  | { type: 'text'; text: string; flush?: boolean; pauseMs?: number }
  /** A complete call; arguments that a model streams are collected first. */
  | { type: 'toolCall'; call: ToolCall }
  | LlmVoice
  | LlmUsage;

/** Audio of a speech-to-speech model, with its transcript so far. */
export interface LlmVoice {
  type: 'voice';
  /** More of the transcript; may arrive before or after its audio. */
  text: string;
  audio: { samples: Int16Array; sampleRateHz: number } | null;
  /** All audio has arrived. */
  isLast: boolean;
  /**
   * Truncates the answer in the model's history after this many milliseconds of audio, counted from its first sample:
   * the user heard no more.
   */
  cut: (heardMs: number) => void;
}

/**
 * Usage as the vendor counts it. A reply may report it in parts, which add up; one that is cancelled may not report all
 * of it.
 */
export interface LlmUsage {
  type: 'usage';
  /** All input tokens. */
  promptTokens: number;
  /** Of these, tokens read from and written to the vendor's cache. Default 0. */
  cachedTokens?: number;
  cacheWriteTokens?: number;
  completionTokens: number;
  /** Of all these, audio tokens. Default none. */
  audio?: { promptTokens: number; cachedTokens: number; completionTokens: number };
  /** The provider and model id that answered, if it may be another than the one that was asked. */
  by?: { provider: string; model: string };
}

/** A speech-to-speech model. */
export interface SpeechModel {
  /** The value of `voice.provider` that selects the model's own voice. */
  voiceProvider: string;
  /** Speaks exact phrases in that voice: greetings, fillers, goodbyes. */
  reader: TtsProvider;
  /** The reader's model whose voice matches a model id. */
  readerModel(model: string): string;
  /**
   * Opens the model for one session. Connects on first use.
   * @param voice null = the model answers in text and a TTS provider speaks
   */
  open(model: string, voice: SpeechModelVoice | null): SpeechSession;
}

export interface SpeechModelVoice {
  /** Null = the provider's default. */
  voiceId: string | null;
  /** From the agent's configuration, already validated. */
  settings: Readonly<Record<string, unknown>>;
}

/** The parts that replace a session's own. */
export interface SpeechSession {
  /** Sends the user's audio to the model and returns its transcripts. */
  stt: SttProvider;
  /** Answers the audio it has received: a last user message without text represents it. */
  llm: LlmProvider;
  close(): Promise<void>;
}
