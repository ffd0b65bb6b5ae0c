import type { Cancel } from '../../../dist/base/clock.js';
import type { RealClock } from '../../../dist/base/real-clock.js';
import type { Ticker } from '../../../dist/base/ticker.js';

/** Whose engine holds the conversation. */
export type SideName = 'parley' | 'livekit';

/** One of the two engines in this process, with the clock and the ticker that pace its lines. */
export interface Side {
  readonly clock: RealClock;
  readonly ticker: Ticker;
  /** A session with a line to it, ready to be spoken to. */
  open(options: LineOptions): Promise<Line>;
  close(): Promise<void>;
}

export interface LineOptions {
  /** The model's answer, whatever is asked; one sentence without commas, so that the voice makes no pause. */
  answer: string;
  /** How long the voice speaks for each character of it. */
  charMs: number;
  /**
   * `scripted`: a detector that gets what it hears, and turns that are over as soon as it hears silence and the words
   * are there. `silero`: each side's default detector (both are Silero), each side's default turn-taking.
   */
  ears: 'scripted' | 'silero';
  /** Of the settings that matter here the quickest ones: `Side` says which. */
  quick: boolean;
  /** The agent begins to be heard after silence. */
  onSound: (atMs: number) => void;
  /** The agent is not heard any more. */
  onQuiet: (atMs: number) => void;
}

/** What the driver does for the user and the services, alike on both sides. */
export interface Line {
  /** 20 ms of the user, 16 kHz. To be called from a listener of the side's ticker. */
  hear(frame: Int16Array): void;
  /** The scripted detector hears speech from now on, or none. */
  detect(isSpeech: boolean): void;
  /** The recogniser says what was said since the turn began. Empty and final: it understood nothing. */
  transcribe(text: string, isFinal: boolean): void;
  /** A message in writing, which the agent answers aloud. */
  ask(text: string): void;
  /** When the line's latest turn was decided to be over. */
  decidedMs(): number;
  close(): Promise<void>;
}

/** Waits on the real clock. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** @throws Error where it does not come true in time */
export async function until(isSo: () => boolean, what: string, limitMs = 10_000): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!isSo()) {
    if (performance.now() > endMs) throw new Error(`gave up waiting: ${what}`);
    await sleep(5);
  }
}

/** Calls `act` with each tick until it returns false, or for good when it is cancelled. */
export function eachTick(ticker: Ticker, act: () => boolean): Cancel {
  const stop = ticker.subscribe(() => {
    if (!act()) stop();
  });
  return stop;
}
