import { LineInput } from '../line-input.js';
import type { LineStats, TransferOutcome, Transport, TransportSink } from '../transport.js';

/** What the line asks of its call. */
export interface LineEnds {
  play(frame: Int16Array | null): void;
  press(keys: string, signal: AbortSignal): Promise<void>;
  lineStats(): LineStats;
  /** The agent's side has been closed. */
  lineClosed(): void;
  readonly transfer?: ((target: string, signal: AbortSignal) => Promise<TransferOutcome>) | undefined;
}

/** The agent's end of a call over RTP. */
export class RtpLine implements Transport {
  readonly name = 'rtp';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly transfer?: (target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  readonly #ends: LineEnds;
  readonly #input = new LineInput();

  constructor(rateHz: number, ends: LineEnds) {
    this.#ends = ends;
    this.inputRateHz = rateHz;
    this.outputRateHz = rateHz;
    if (ends.transfer !== undefined) this.transfer = ends.transfer;
  }

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null): void {
    if (!this.#input.isOver) this.#ends.play(frame);
  }

  send(): void {
    // A telephone shows nothing.
  }

  sendDigits(digits: string, signal: AbortSignal): Promise<void> {
    return this.#input.isOver ? Promise.reject(new Error('the call is over')) : this.#ends.press(digits, signal);
  }

  lineStats(): LineStats {
    return this.#ends.lineStats();
  }

  close(): Promise<void> {
    if (!this.#input.isOver) {
      this.end();
      this.#ends.lineClosed();
    }
    return Promise.resolve();
  }

  /** Sound of the other side; it may be overwritten afterwards. */
  hear(samples: Int16Array): void {
    this.#input.audio(samples);
  }

  digits(keys: string): void {
    this.#input.digits(keys);
  }

  /** The call is over. May be called twice. */
  end(error?: Error): void {
    this.#input.end(error);
  }
}
