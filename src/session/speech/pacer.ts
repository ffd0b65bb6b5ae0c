import { frameSamples, FRAME_MS } from '../../audio/frame.js';
import type { Cancel } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import type { Transport } from '../../transports/transport.js';

/** Where the next 20 ms of the agent come from. */
export interface FrameSource {
  /**
   * The next 20 ms, null = silence.
   * @param skipped frames that the line did without since the last one
   */
  pull(skipped: number): Int16Array | null;
  /** A whole frame of audio could be pulled now. */
  playable(): boolean;
  /** There is silence, until the pacer is woken: it need not ask. */
  rests(): boolean;
  /** Frames that were pulled before their time; used only for a line with a lead. */
  readonly ahead?: AheadSource;
}

/** Frames given before their time: the source knows which of them have been heard. */
export interface AheadSource {
  /** How many are waiting to be heard. */
  count(): number;
  /** The next frame is certain now, whatever happens to be said later. */
  ready(): boolean;
  /** Pulls that frame; null = silence. */
  pull(): Int16Array | null;
  /** The oldest one is heard from now on. False = the line is held, and nothing is heard. */
  hear(): boolean;
}

/**
 * Gives the transport a frame a tick, and the first frame after silence at once: an answer that is ready in the middle
 * of a tick does not wait for its end. The line is then one frame ahead, until a silent tick is left out for it; so
 * there are never more frames than ticks and one, and no gap comes after the early frame.
 *
 * A line with a lead is given more frames as soon as they are there, up to its lead. A tick then stands for a frame that
 * was given before.
 */
export class Pacer {
  readonly #transport: Transport;
  readonly #source: FrameSource;
  readonly #onFault: (error: unknown) => void;
  readonly #leadFrames: number;
  #stopTicks: Cancel | null = null;
  #isSilent = true;
  #isAhead = false;
  #isResting = false;
  /** A frame is being pulled: what this brings about must not give another one before it. */
  #isGiving = false;

  /** @param onFault the transport or the source threw */
  constructor(transport: Transport, source: FrameSource, onFault: (error: unknown) => void) {
    this.#transport = transport;
    this.#source = source;
    this.#onFault = onFault;
    this.#leadFrames = Math.floor((transport.leadMs ?? 0) / FRAME_MS);
  }

  start(ticker: Pick<Ticker, 'subscribe'>): void {
    this.#stopTicks ??= ticker.subscribe((skipped) => this.#guard(() => this.#tick(skipped)));
  }

  /** The source has something for the line: it does not rest any more. */
  wake(): void {
    this.#isResting = false;
  }

  /** The source has become playable: gives a frame at once, where the line is silent or has a lead to fill. */
  hurry(): void {
    this.wake();
    if (this.#stopTicks === null || (this.#leadFrames > 0 && this.#isGiving)) return;
    this.#guard(() => {
      if (this.#isSilent && this.#aheadFrames === 0) {
        if (this.#isAhead || !this.#source.playable()) return;
        this.#isAhead = true;
        this.#give(0);
      }
      this.#giveAhead();
    });
  }

  /** May be called twice. */
  stop(): void {
    this.#stopTicks?.();
    this.#stopTicks = null;
  }

  get #aheadFrames(): number {
    return this.#leadFrames === 0 ? 0 : (this.#source.ahead?.count() ?? 0);
  }

  #tick(skipped: number): void {
    let due = 1 + skipped;
    for (; due > 0 && this.#aheadFrames > 0; due--) if (this.#source.ahead?.hear() !== true) return;
    if (due > 0) this.#give(due - 1);
    this.#giveAhead();
  }

  #give(skipped: number): void {
    // Most of the time nobody says anything, in most calls.
    this.#isGiving = true;
    const frame = this.#isResting && skipped === 0 ? null : this.#source.pull(skipped);
    this.#isGiving = false;
    this.#isSilent = frame === null;
    if (frame === null && this.#isAhead) {
      this.#isAhead = false;
      return;
    }
    if (frame === null && !this.#isResting) this.#isResting = this.#source.rests();
    this.#transport.play(frame);
  }

  #giveAhead(): void {
    const { ahead } = this.#source;
    if (ahead === undefined) return;
    while (this.#aheadFrames < this.#leadFrames && ahead.ready()) {
      this.#transport.play(ahead.pull() ?? new Int16Array(frameSamples(this.#transport.outputRateHz)));
    }
  }

  #guard(give: () => void): void {
    try {
      give();
    } catch (error) {
      this.#onFault(error);
    }
  }
}
