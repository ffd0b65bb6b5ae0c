import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { SpeechHints } from '../stt.js';
import type { SpeechLanguage } from '../lm/text.js';

/** The worker's start-up settings. */
export interface WorkerSettings {
  /** Maximum number of decoders. */
  readonly decoders: number;
}

/** Messages between the provider's thread and its worker. Every request except `close` and `end` has one reply. */
export type Request =
  | { readonly kind: 'warm'; readonly id: number; readonly language: SpeechLanguage }
  | {
      readonly kind: 'open';
      readonly id: number;
      readonly stream: number;
      readonly language: SpeechLanguage;
      readonly hints: SpeechHints;
    }
  /** Audio of the current turn (the first audio begins it); requests the transcript so far. */
  | {
      readonly kind: 'audio';
      readonly id: number;
      readonly stream: number;
      readonly samples: Int16Array;
      /** The user has stopped speaking: requests the final transcript. */
      readonly isFinal: boolean;
    }
  /** How probable the agent's grammar finds sentences as answers to a question. */
  | {
      readonly kind: 'score';
      readonly id: number;
      readonly stream: number;
      readonly sentences: readonly (readonly string[])[];
      readonly answer: ExpectedAnswer | null;
    }
  /** What the agent has asked for, from the next turn on. */
  | { readonly kind: 'expect'; readonly stream: number; readonly answer: ExpectedAnswer | null }
  /** Ends the turn: the next audio begins a new one. */
  | { readonly kind: 'end'; readonly stream: number }
  | { readonly kind: 'close'; readonly stream: number };

export type WorkerAnswer =
  | { readonly id: number; readonly ok: true; readonly value: AnswerValue }
  | { readonly id: number; readonly ok: false; readonly reason: string };

/** Null for a warm-up, and for audio of a stream that closed before it was decoded. */
export type AnswerValue = VocabularyReport | Hypothesis | readonly number[] | null;

/** How an agent's hints were processed. */
export interface VocabularyReport {
  /** Words that can be recognised. */
  readonly words: number;
  /** Number of states of the grammar, which determines the cost per frame. */
  readonly states: number;
  /** Words that are not in the dictionary and got a pronunciation by rule. */
  readonly guessed: readonly string[];
  /** Words without a pronunciation, which cannot be recognised. */
  readonly leftOut: readonly string[];
}

/** The transcript of a turn so far. */
export interface Hypothesis {
  readonly text: string;
  readonly understood: boolean;
  readonly confidence: number;
  readonly words: readonly HypothesisWord[];
}

/** Times are samples at 16 kHz within the turn's decoded audio. */
export interface HypothesisWord {
  readonly text: string;
  readonly startSample: number;
  readonly endSample: number;
  readonly confidence: number;
}
