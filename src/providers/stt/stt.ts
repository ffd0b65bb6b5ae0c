import type { Clock } from '../../base/clock.js';
import type { ProviderOutcome } from '../outcome.js';
import type { ExpectedAnswer } from '../../agent/expected-answer.js';

/** Streaming speech to text. */
export interface SttProvider {
  readonly name: string;
  /**
   * Whether results depend only on the audio and their latency comes from a table, so that they work in virtual time.
   */
  readonly virtualTime: boolean;
  /** Longest time from the end of speech to a final transcript, in ms, where it is longer than usual. */
  readonly finalMs?: number;
  /** Whether its streams call `onOutcome` themselves, because it combines several providers. Default false. */
  readonly tellsOutcomes?: boolean;
  /** Capabilities. Default: any language, one at a time, no choice of models. */
  readonly abilities?: SttAbilities;
  /** Loads models or opens connections before they are needed. */
  warmUp(): Promise<void>;
  /** Opens a stream for one session. Rejects with a ParleyError. */
  open(options: SttOptions, events: SttEvents): Promise<SttStream>;
  /** Frees all shared resources. Idempotent. */
  close(): Promise<void>;
}

export interface SttAbilities {
  /** Whether it supports a language of the interface's list. Default: all. */
  understands?: (language: string) => boolean;
  /** Supports several languages in one stream. */
  multilingual?: boolean;
  /** Supports a choice of models. */
  models?: boolean;
  /** Whether it has the named model, if it knows. Default: `open` finds out. */
  hasModel?: (name: string) => boolean;
  /** Its audio also goes to the model that answers: only one stream at a time, and no transcript before speech ends. */
  feedsModel?: boolean;
}

export interface SttOptions {
  /** Name of the provider's model. Default: the provider's choice. */
  model?: string | undefined;
  /** The user may speak several languages. Set only for providers that support it. */
  multilingual?: boolean | undefined;
  /** A code of the interface's language list, such as `en-US`. */
  language: string;
  hints: SpeechHints;
  clock: Clock;
  signal: AbortSignal;
}

/** Hints about the expected words, from the agent's configuration. */
export interface SpeechHints {
  /** Typical user sentences (a script's patterns, example answers). */
  phrases: readonly string[];
  /** Texts with the topic's vocabulary: prompt, messages, tool descriptions. */
  texts: readonly string[];
  /** Words and phrases to boost, with a weight; 1 is a light nudge, 10 strong. */
  keywords: ReadonlyMap<string, number>;
}

export function noHints(): SpeechHints {
  return { phrases: [], texts: [], keywords: new Map() };
}

export interface SttEvents {
  /** Interim and final transcripts, see SttTranscript. */
  onTranscript(transcript: SttTranscript): void;
  /** The probability, 0..1, that the user's turn is over, from engines with an end-of-turn model. */
  onTurnEnds?(probability: number): void;
  /** The active provider has changed to a fallback, with its model (null = its default). */
  onListener?(by: { provider: string; model: string | null }): void;
  /** Called by streams of those that set `tellsOutcomes`, for each provider that listens. */
  onOutcome?(outcome: ProviderOutcome): void;
  /** Something that the stream can do without has failed; it goes on. */
  onFault?(reason: string): void;
  /** The stream has failed and returns nothing more. Called at most once. */
  onError(error: Error): void;
}

export interface SttTranscript {
  /**
   * Number of the stretch of speech, ascending. A transcript replaces every earlier one of the same segment, even a
   * final one: an engine may revise it if the user resumes after a pause.
   */
  segment: number;
  /** Lower or mixed case, with or without punctuation, as the engine gives it. Empty = nothing recognised. */
  text: string;
  isFinal: boolean;
  /** False if the engine heard speech but does not trust its transcript; `text` is then its best guess. */
  understood: boolean;
  /** 0..1, null where the engine gives none. */
  confidence: number | null;
  words?: readonly SttWord[];
}

/** Times are samples at 16 kHz on the same count as `push`. */
export interface SttWord {
  text: string;
  startSample: number;
  endSample: number;
  confidence: number | null;
}

export interface SttStream {
  /**
   * Mono 16 kHz audio; `startSample` is the position of its first sample in the session. The caller reuses the array
   * right after the call: copy what must last.
   */
  push(samples: Int16Array, startSample: number): void;
  /** The VAD detected speech that began at `sample`, slightly in the past. */
  speechStarted(sample: number): void;
  /** The VAD detected the end of speech at `sample`: deliver a final transcript as soon as possible. */
  speechStopped(sample: number): void;
  /** The conversation has closed the user's turn: the next speech is a new segment. */
  endTurn(): void;
  /** What the agent has asked for, from the next turn on; null = anything. Left out by engines that have no use for it. */
  expect?(answer: ExpectedAnswer | null): void;
  close(): Promise<void>;
}
