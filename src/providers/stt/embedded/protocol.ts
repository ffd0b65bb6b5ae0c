import type { SpeechHints } from '../stt.js';
import type { SpeechLanguage } from '../lm/text.js';

/** What the worker is told when it starts. */
export interface WorkerSettings {
  /** Most decoders at once. */
  readonly decoders: number;
}

/** Messages between the provider's thread and its worker. Every request but `close` and `end` has one answer. */
export type Request =
  | { readonly kind: 'warm'; readonly id: number; readonly language: SpeechLanguage }
  | {
      readonly kind: 'open';
      readonly id: number;
      readonly stream: number;
      readonly language: SpeechLanguage;
      readonly hints: SpeechHints;
    }
  /** Audio of the turn that is running (the first one begins it); asks what has been understood so far. */
  | {
      readonly kind: 'audio';
      readonly id: number;
      readonly stream: number;
      readonly samples: Int16Array;
      /** The user has stopped speaking: the transcript is waited for. */
      readonly isFinal: boolean;
    }
  /** The turn is over: the next audio begins a new one. */
  | { readonly kind: 'end'; readonly stream: number }
  | { readonly kind: 'close'; readonly stream: number };

export type Answer =
  | { readonly id: number; readonly ok: true; readonly value: AnswerValue }
  | { readonly id: number; readonly ok: false; readonly reason: string };

/** Null for a warm-up, and for audio of a stream that was closed before it was decoded. */
export type AnswerValue = VocabularyReport | Hypothesis | null;

/** What became of an agent's hints. */
export interface VocabularyReport {
  /** Words that can be recognised. */
  readonly words: number;
  /** States of the grammar: what the decoder pays for in every frame. */
  readonly states: number;
  /** Words that were given a pronunciation by rule because the dictionary has none. */
  readonly guessed: readonly string[];
  /** Words that could not be given one and will not be recognised. */
  readonly leftOut: readonly string[];
}

/** What has been understood of a turn so far. */
export interface Hypothesis {
  readonly text: string;
  readonly understood: boolean;
  readonly confidence: number;
  readonly words: readonly HypothesisWord[];
}

/** Times are samples at 16 kHz on the count of the turn's fed audio. */
export interface HypothesisWord {
  readonly text: string;
  readonly startSample: number;
  readonly endSample: number;
  readonly confidence: number;
}
