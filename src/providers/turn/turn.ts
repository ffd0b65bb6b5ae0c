import type { Clock } from '../../base/clock.js';

/**
 * Estimates from the sound of speech (intonation, pace, breath) whether the speaker has finished. It runs at each
 * pause, and its result refines the score of the words (docs/flow/end-of-turn.md).
 */
export interface TurnModel {
  readonly name: string;
  /** True where the answer depends only on the audio and comes at times from a table. */
  readonly virtualTime: boolean;
  /** Length of its audio window in seconds. */
  readonly windowS: number;
  /** Loads what it needs. May be called again; later calls return at once. */
  warmUp(): Promise<void>;
  /**
   * The probability, 0..1, that the turn is over. Rejects with a ParleyError if it fails, and with the signal's reason
   * if that is aborted first.
   */
  judge(request: TurnRequest): Promise<number>;
  /**
   * For a model that takes audio as it comes: a stream for one call, called after `warmUp`. Null = it takes windows only.
   * Such a model also judges windows.
   */
  open?(clock: Clock): TurnStream | null;
  close(): Promise<void>;
}

export interface TurnRequest {
  /** Mono, 16 kHz: the latest `windowS` seconds at most, up to the pause and what there is of it. Not changed after. */
  samples: Int16Array;
  /** A code of the interface's language list, such as `en-US`. */
  language: string;
  clock: Clock;
  signal: AbortSignal;
}

/** The audio of one call. No call of a method waits; a model that cannot keep up loses the turn, not the call. */
export interface TurnStream {
  /** Audio between two of its estimates, in ms. */
  readonly stepMs: number;
  /** Audio that it wants from before the speech, in ms. */
  readonly leadMs: number;
  /** A new turn begins: what was heard before is forgotten. */
  start(): void;
  /** Mono, 16 kHz, of any length. */
  push(samples: Int16Array): void;
  /**
   * The probability, 0..1, that the turn is over after all audio of the turn so far. Rejects as `TurnModel.judge` does,
   * also if the model has fallen behind.
   */
  judge(signal: AbortSignal): Promise<number>;
  /** May be called twice. */
  close(): void;
}
