import type { Clock } from '../../base/clock.js';
import type { ChatMessage, ToolCall, ToolSpec } from '../../agent/chat.js';
import type { SttProvider } from '../stt/stt.js';
import type { TtsProvider } from '../tts/tts.js';

/** A language model, streaming. One vendor a file; the registry names them. */
export interface LlmProvider {
  readonly name: string;
  /** True where a reply depends only on the request and comes at times from a table. */
  readonly virtualTime: boolean;
  /** Where its models hear and speak themselves: what a session has of them. `complete` is for what is written. */
  readonly speech?: SpeechModel;
  warmUp(): Promise<void>;
  /**
   * One reply. Ends after the last piece; throws a ParleyError when the model fails, and the signal's reason when
   * it is aborted. Nothing goes on running after either.
   */
  complete(request: LlmRequest): AsyncIterable<LlmPiece>;
  close(): Promise<void>;
}

export interface LlmRequest {
  model: string;
  messages: readonly ChatMessage[];
  tools: readonly ToolSpec[];
  /** The reply is to be one call of this tool, which the last message asks for. */
  requiredTool?: string;
  /** 0..2. */
  temperature: number;
  clock: Clock;
  signal: AbortSignal;
}

export type LlmPiece =
  /** `flush`: what there is now is to be spoken, whole sentence or not; `pauseMs`: with so much silence behind it. */
  | { type: 'text'; text: string; flush?: boolean; pauseMs?: number }
  /** A whole call; models that stream arguments are gathered up first. */
  | { type: 'toolCall'; call: ToolCall }
  | LlmVoice
  | LlmUsage;

/** A model that speaks itself: its audio, and the words that have become known with it. */
export interface LlmVoice {
  type: 'voice';
  /** More of its words; they may come before or after their audio. */
  text: string;
  audio: { samples: Int16Array; sampleRateHz: number } | null;
  /** All of the audio has come. */
  isLast: boolean;
  /** Only so much of the answer's audio was heard, in milliseconds from its first sample: the model is to know no more of it. */
  cut: (heardMs: number) => void;
}

/** What the vendor counts. A reply may tell it in parts, which add up; one that is broken off may not come to tell it. */
export interface LlmUsage {
  type: 'usage';
  /** All that was read. */
  promptTokens: number;
  /** Of these, those that came out of the vendor's cache, and those that were written to it. Default 0. */
  cachedTokens?: number;
  cacheWriteTokens?: number;
  completionTokens: number;
  /** Of all these, those that were audio. Default none. */
  audio?: { promptTokens: number; cachedTokens: number; completionTokens: number };
  /** Who counts, where that is not who was asked: a stand-in, and the model id that it was asked for. */
  by?: { provider: string; model: string };
}

/** A language model that hears and speaks itself. */
export interface SpeechModel {
  /** The name under which `voice.provider` means its own voice. */
  voiceProvider: string;
  /** Says exact phrases in that voice: greetings, fillers, goodbyes. */
  reader: TtsProvider;
  /** The reader's model that sounds like a model id. */
  readerModel(model: string): string;
  /**
   * What one session has of it. Nothing is opened before it is used.
   * @param voice null = it answers in writing, and somebody else speaks
   */
  open(model: string, voice: SpeechModelVoice | null): SpeechSession;
}

export interface SpeechModelVoice {
  /** Null = its default. */
  voiceId: string | null;
  /** As the agent's configuration gives them; they have been checked. */
  settings: Readonly<Record<string, unknown>>;
}

/** The parts of it that stand where a session has others. */
export interface SpeechSession {
  /** Takes the user's audio to the model, and gives the words. */
  stt: SttProvider;
  /** Answers what it has heard: a last user message without words stands for it. */
  llm: LlmProvider;
  /** May be called twice. */
  close(): Promise<void>;
}
