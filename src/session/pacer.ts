import type { Cancel } from '../clock/clock.js';
import type { Ticker } from '../clock/ticker.js';
import type { Transport } from '../transports/transport.js';

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
}

/**
 * Gives the transport a frame a tick, and the first frame after silence at once: an answer that is ready in the middle
 * of a tick does not wait for its end. The line is then one frame ahead, until a silent tick is left out for it; so
 * there are never more frames than ticks and one, and no gap comes after the early frame.
 */
export class Pacer {
  readonly #transport: Transport;
  readonly #source: FrameSource;
  readonly #onFault: (error: unknown) => void;
  #stopTicks: Cancel | null = null;
  #isSilent = true;
  #isAhead = false;
  #isResting = false;

  /** @param onFault the transport or the source threw */
  constructor(transport: Transport, source: FrameSource, onFault: (error: unknown) => void) {
    this.#transport = transport;
    this.#source = source;
    this.#onFault = onFault;
  }

  start(ticker: Pick<Ticker, 'subscribe'>): void {
    this.#stopTicks ??= ticker.subscribe((skipped) => this.#give(skipped));
  }

  /** The source has something for the line: it does not rest any more. */
  wake(): void {
    this.#isResting = false;
  }

  /** The source has become playable: gives a frame at once, where the line is silent. */
  hurry(): void {
    this.wake();
    if (this.#stopTicks === null || !this.#isSilent || this.#isAhead || !this.#source.playable()) return;
    this.#isAhead = true;
    this.#give(0);
  }

  /** May be called twice. */
  stop(): void {
    this.#stopTicks?.();
    this.#stopTicks = null;
  }

  #give(skipped: number): void {
    try {
      // Most of the time nobody says anything, in most calls.
      const frame = this.#isResting && skipped === 0 ? null : this.#source.pull(skipped);
      this.#isSilent = frame === null;
      if (frame === null && this.#isAhead) {
        this.#isAhead = false;
        return;
      }
      if (frame === null && !this.#isResting) this.#isResting = this.#source.rests();
      this.#transport.play(frame);
    } catch (error) {
      this.#onFault(error);
    }
  }
}
