import type { Clock } from '../../base/clock.js';

/** Speech to text, streaming. One vendor a file; the registry names them. */
export interface SttProvider {
  readonly name: string;
  /** True where results depend only on the audio and come at times from a table, so that virtual time is possible. */
  readonly virtualTime: boolean;
  /** What it can do beside the least. Default: any language, one at a time, no models to choose from. */
  readonly abilities?: SttAbilities;
  /** Loads models or opens connections before they are needed. */
  warmUp(): Promise<void>;
  /** One stream for one session. Rejects with a ParleyError if it cannot be had. */
  open(options: SttOptions, events: SttEvents): Promise<SttStream>;
  /** Frees everything shared. May be called twice. */
  close(): Promise<void>;
}

export interface SttAbilities {
  /** Whether it understands a language of the interface's list. Default: every one. */
  understands?: (language: string) => boolean;
  /** Understands several languages in one stream. */
  multilingual?: boolean;
  /** Has models that can be named. */
  models?: boolean;
  /** Whether it has a model of the name, where it can say so by itself. Default: that shows when a stream is opened. */
  hasModel?: (name: string) => boolean;
  /** What it hears goes to the model that answers, too: one stream at a time, which gives no words before speech is over. */
  feedsModel?: boolean;
}

export interface SttOptions {
  /** The provider's model by its name. Default: the provider's choice. */
  model?: string;
  /** Several languages may be spoken. Asked only of providers that can. */
  multilingual?: boolean;
  /** A code of the interface's language list, such as `en-US`. */
  language: string;
  hints: SpeechHints;
  clock: Clock;
  signal: AbortSignal;
}

/** What the agent's configuration tells about the words to expect. */
export interface SpeechHints {
  /** Things the user may well say, as sentences (a script's patterns, example answers). */
  phrases: readonly string[];
  /** Text that the topic's words can be taken from: prompt, messages, tool descriptions. */
  texts: readonly string[];
  /** Words and phrases to favour, with a weight; 1 is a light nudge, 10 strong. */
  keywords: ReadonlyMap<string, number>;
}

export interface SttEvents {
  /** Interim and final transcripts, see SttTranscript. */
  onTranscript(transcript: SttTranscript): void;
  /** The engine's own model of turns says how likely it is that the user's turn is over, 0..1. Few engines have one. */
  onTurnEnds?(probability: number): void;
  /** Who listens from now on, where that is not who was asked: a stand-in, and its model (null = its default). */
  onListener?(by: { provider: string; model: string | null }): void;
  /** The stream has failed and gives nothing more. Called at most once. */
  onError(error: Error): void;
}

export interface SttTranscript {
  /**
   * Number of the stretch of speech, counting up. A transcript replaces every earlier one of the same segment,
   * a final one included: an engine that hears the user go on after a pause may revise what it said.
   */
  segment: number;
  /** Lower or mixed case, with or without punctuation, as the engine gives it. Empty = nothing recognised. */
  text: string;
  isFinal: boolean;
  /** False where the engine heard speech but does not trust its words; `text` is then its best guess. */
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
   * Mono 16 kHz audio; `startSample` is the position of its first sample on the session's count. The samples are the
   * caller's and change right after the call, to what somebody else says: copy what must last.
   */
  push(samples: Int16Array, startSample: number): void;
  /** The VAD hears speech that began at `sample` (a little before now). */
  speechStarted(sample: number): void;
  /** The VAD hears no more speech since `sample`: give a final transcript of what was said as soon as possible. */
  speechStopped(sample: number): void;
  /** The conversation has taken what was said as a whole turn: the next speech is a new segment. */
  endTurn(): void;
  close(): Promise<void>;
}
