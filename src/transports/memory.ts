import { notInt16 } from '../audio/frame.js';
import type { TransferOutcome, Transport, TransportMessage, TransportSink } from './transport.js';

export interface MemoryTransportOptions {
  /** Rate of both directions. Default 16000. */
  sampleRateHz?: number;
  /** Gets the agent's audio, 20 ms a call; null = silence. */
  onFrame?: (frame: Int16Array | null) => void;
  /** Transfers the user. Default: transfers are not available. */
  transfer?: (target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  /** Sends the agent's keys. Default: `onFrame` gets them as tones. */
  sendDigits?: (digits: string, signal: AbortSignal) => Promise<void>;
  /** Whether `onMessage` answers actions with `pushFormResult`. Default false. */
  showsForms?: boolean;
  /** Every side-channel message. */
  onMessage?: (message: TransportMessage) => void;
}

/**
 * A line in memory: the embedder pushes the user's audio and receives the agent's. Use it as an example for your own
 * transport, and in tests.
 */
export class MemoryTransport implements Transport {
  readonly name = 'memory';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly showsForms: boolean;
  readonly transfer?: (target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  readonly sendDigits?: (digits: string, signal: AbortSignal) => Promise<void>;
  readonly #options: MemoryTransportOptions;
  #sink: TransportSink | null = null;
  #closed = false;
  #error: Error | undefined;
  #early: ((sink: TransportSink) => void)[] = [];

  constructor(options: MemoryTransportOptions = {}) {
    this.#options = options;
    this.inputRateHz = options.sampleRateHz ?? 16_000;
    this.outputRateHz = this.inputRateHz;
    this.showsForms = options.showsForms ?? false;
    if (options.transfer !== undefined) this.transfer = options.transfer;
    if (options.sendDigits !== undefined) this.sendDigits = options.sendDigits;
  }

  /**
   * The user's audio, mono, any length, as it is spoken: its last sample was spoken now. Push silence too, or the agent
   * answers half a second later (see `TransportSink.audio`). Kept before `start`, ignored after the close.
   * @throws ParleyError ARGUMENT_INVALID for other types than Int16Array
   */
  pushAudio(samples: Int16Array): void {
    if (!(samples instanceof Int16Array)) throw notInt16('pushAudio', samples);
    const copy = this.#sink === null ? samples.slice() : samples;
    this.#deliver((sink) => {
      sink.audio(copy);
    });
  }

  pushDigits(digits: string): void {
    this.#deliver((sink) => {
      sink.digits(digits);
    });
  }

  pushText(text: string): void {
    this.#deliver((sink) => {
      sink.text(text);
    });
  }

  /** The value of a form that an action requested. */
  pushFormResult(id: string, value: unknown): void {
    this.#deliver((sink) => {
      sink.formResult(id, value);
    });
  }

  /** The user hangs up, or the line breaks with an error. */
  hangUp(error?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#error = error;
    this.#sink?.closed(error);
  }

  start(sink: TransportSink): void {
    this.#sink = sink;
    for (const deliver of this.#early) deliver(sink);
    this.#early = [];
    if (this.#closed) sink.closed(this.#error);
  }

  play(frame: Int16Array | null): void {
    if (!this.#closed) this.#options.onFrame?.(frame);
  }

  send(message: TransportMessage): void {
    this.#options.onMessage?.(message);
  }

  close(): Promise<void> {
    this.hangUp();
    return Promise.resolve();
  }

  #deliver(deliver: (sink: TransportSink) => void): void {
    if (this.#closed) return;
    if (this.#sink === null) this.#early.push(deliver);
    else deliver(this.#sink);
  }
}
