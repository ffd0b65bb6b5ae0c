import { frameSamples, FRAME_MS } from '../../audio/frame.js';
import type { Cancel } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import type { Transport } from '../../transports/transport.js';
import type { LineEar } from '../tap.js';

/** The source of the agent's audio. */
export interface FrameSource {
  /**
   * The next 20 ms, null = silence.
   * @param skipped frames that the line skipped since the last one
   */
  pull(skipped: number): Int16Array | null;
  /** A complete frame of audio is available now. */
  playable(): boolean;
  /** The source is silent until it wakes the pacer: it need not be asked. */
  rests(): boolean;
  /** Frames pulled ahead of time; used only for a line with a lead. */
  readonly ahead?: AheadSource;
}

/** Frames sent ahead of time: the source knows which of them have been heard. */
export interface AheadSource {
  /** Number of frames that are not heard yet. */
  count(): number;
  /** The next frame is final: nothing said later can change it. */
  ready(): boolean;
  /** Pulls that frame; null = silence. */
  pull(): Int16Array | null;
  /** The oldest frame is heard from now on. False = the line is held, and nothing is heard. */
  hear(): boolean;
}

/**
 * Sends the transport a frame a tick, and the first frame after silence at once: an answer that is ready between two
 * ticks does not wait for the next. The line is then one frame ahead until a silent tick skips one; so there is never
 * more than one extra frame, and no gap follows the early one.
 *
 * A line with a lead gets frames as soon as they exist, up to its lead. A tick then stands for a frame that was sent
 * before.
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
  /** A frame is being pulled: nothing that this causes may send another one before it. */
  #isGiving = false;
  readonly #ear: LineEar | null;
  /** Frames that were played, silent ones too. */
  #played = 0;
  /** Frames sent ahead of time that the ear has not got, because they are not heard yet. */
  readonly #sent: Int16Array[] = [];
  #silence: Int16Array | null = null;

  /**
   * @param onFault called if the transport or the source throws
   * @param ear gets what is really played
   */
  constructor(
    transport: Transport,
    source: FrameSource,
    onFault: (error: unknown) => void,
    ear: LineEar | null = null,
  ) {
    this.#transport = transport;
    this.#source = source;
    this.#onFault = onFault;
    this.#ear = ear;
    this.#leadFrames = Math.floor((transport.leadMs ?? 0) / FRAME_MS);
  }

  start(ticker: Pick<Ticker, 'subscribe'>): void {
    this.#stopTicks ??= ticker.subscribe((skipped) => this.#guard(() => this.#tick(skipped)));
  }

  /** The source has audio for the line again. */
  wake(): void {
    this.#isResting = false;
  }

  /** The source has become playable: sends a frame at once if the line is silent or has room in its lead. */
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
    for (; due > 0 && this.#aheadFrames > 0; due--) {
      this.#forgetDropped();
      if (this.#source.ahead?.hear() !== true) {
        this.#hear(null, due);
        return;
      }
      this.#hear(this.#sent.shift() ?? null, 1);
    }
    if (due > 0) this.#give(due - 1);
    this.#giveAhead();
  }

  /** A frame is played, after `count` - 1 silent ones. */
  #hear(frame: Int16Array | null, count: number): void {
    const first = this.#played;
    this.#played += count;
    if (this.#ear?.isRead !== true) return;
    this.#silence ??= new Int16Array(frameSamples(this.#transport.outputRateHz));
    for (let at = first; at < this.#played; at++) {
      const isLast = at === this.#played - 1;
      this.#ear.push(isLast && frame !== null ? frame : this.#silence, at * this.#silence.length);
    }
  }

  /** Frames that were sent, and dropped before anybody heard them. */
  #forgetDropped(): void {
    if (this.#sent.length > this.#aheadFrames) this.#sent.length = 0;
  }

  #give(skipped: number): void {
    // Most calls are silent most of the time.
    this.#isGiving = true;
    const frame = this.#isResting && skipped === 0 ? null : this.#source.pull(skipped);
    this.#isGiving = false;
    this.#isSilent = frame === null;
    if (frame === null && this.#isAhead) {
      this.#isAhead = false;
      return;
    }
    if (frame === null && !this.#isResting) this.#isResting = this.#source.rests();
    this.#hear(frame, 1 + skipped);
    this.#transport.play(frame);
  }

  #giveAhead(): void {
    const { ahead } = this.#source;
    if (ahead === undefined) return;
    this.#forgetDropped();
    while (this.#aheadFrames < this.#leadFrames && ahead.ready()) {
      const frame = ahead.pull() ?? new Int16Array(frameSamples(this.#transport.outputRateHz));
      if (this.#ear?.isRead === true) this.#sent.push(frame);
      this.#transport.play(frame);
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
