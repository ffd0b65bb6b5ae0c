import { FRAME_MS, frameSamples } from '../audio/frame.js';
import type { Cancel } from '../base/clock.js';
import type { Ticker } from '../base/ticker.js';
import { ParleyError } from '../base/errors.js';
import type { Transport, TransportMessage, TransportSink } from './transport.js';

export interface FileTransportOptions {
  /** The user's side, mono. */
  samples: Int16Array;
  sampleRateHz: number;
  /** Paces both directions; create it before the session's own subscription, so that a tick's input comes first. */
  ticker: Ticker;
  /**
   * The user hangs up after the end of the recording, once the agent has been silent for this long. Default 6000; must
   * be longer than the slowest answer.
   */
  hangUpAfterMs?: number;
  /** Called once a tick with the played share of the recording, 0 to 1. */
  onProgress?: (share: number) => void;
  /** Every side-channel message. */
  onMessage?: (message: TransportMessage) => void;
}

/**
 * Plays a recording as the user into the session, and records the agent's audio aligned to it. Frame n of the reply is
 * heard while frame n + 1 of the recording plays.
 */
export class FileTransport implements Transport {
  readonly name = 'file';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly #options: FileTransportOptions;
  readonly #frame: number;
  readonly #hangUpAfter: number;
  readonly #frames: (Int16Array | null)[] = [];
  #sink: TransportSink | null = null;
  #stopTicks: Cancel = () => undefined;
  #position = 0;
  #quietTicks = 0;
  #closed = false;

  /** @throws ParleyError AUDIO_RATE_UNSUPPORTED if 20 ms are not a whole number of samples */
  constructor(options: FileTransportOptions) {
    this.#options = options;
    this.inputRateHz = options.sampleRateHz;
    this.outputRateHz = options.sampleRateHz;
    this.#frame = frameSamples(options.sampleRateHz);
    if (!Number.isInteger(this.#frame)) {
      throw new ParleyError('AUDIO_RATE_UNSUPPORTED', { sampleRateHz: options.sampleRateHz });
    }
    this.#hangUpAfter = Math.ceil((options.hangUpAfterMs ?? 6000) / FRAME_MS);
  }

  start(sink: TransportSink): void {
    this.#sink = sink;
    if (this.#closed) {
      this.#end();
      return;
    }
    this.#stopTicks = this.#options.ticker.subscribe((skipped) => {
      this.#tick(skipped);
    });
  }

  play(frame: Int16Array | null, isBackground = false): void {
    if (this.#sink === null) return;
    this.#frames.push(frame);
    this.#quietTicks = frame === null || isBackground ? this.#quietTicks + 1 : 0;
  }

  send(message: TransportMessage): void {
    this.#options.onMessage?.(message);
  }

  close(): Promise<void> {
    this.#end();
    return Promise.resolve();
  }

  /** The agent's audio from the beginning of the recording, including silence. */
  recording(): Int16Array {
    // The first tick is one frame after the start; its frame is heard from then on.
    const out = new Int16Array((this.#frames.length + 1) * this.#frame);
    this.#frames.forEach((frame, index) => {
      if (frame !== null) out.set(frame, (index + 1) * this.#frame);
    });
    return out;
  }

  /** Catches up on missed ticks, so that both sides stay aligned. */
  #tick(skipped: number): void {
    const { samples, onProgress } = this.#options;
    for (let frame = 0; frame < skipped; frame++) this.#frames.push(null);
    this.#quietTicks += skipped;
    const audio = new Int16Array(this.#frame * (skipped + 1));
    audio.set(samples.subarray(this.#position, this.#position + audio.length));
    this.#position += audio.length;
    const isOver = this.#position >= samples.length;
    onProgress?.(isOver ? 1 : this.#position / samples.length);
    this.#sink?.audio(audio);
    // Only silence after the recording counts for hanging up.
    if (!isOver) this.#quietTicks = 0;
    else if (this.#quietTicks >= this.#hangUpAfter) this.#end();
  }

  #end(): void {
    this.#closed = true;
    const sink = this.#sink;
    this.#sink = null;
    this.#stopTicks();
    sink?.closed();
  }
}
