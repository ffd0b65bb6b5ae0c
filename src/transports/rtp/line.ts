import { LineInput } from '../line-input.js';
import type { LineStats, TransferOutcome, Transport, TransportSink } from '../transport.js';

/** The call of the line. */
export interface LineEnds {
  play(frame: Int16Array | null): void;
  press(keys: string, signal: AbortSignal): Promise<void>;
  lineStats(): LineStats;
  /** The agent's side has closed. */
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
    // A telephone has no display.
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

  /** Audio of the other side; may be overwritten afterwards. */
  hear(samples: Int16Array): void {
    this.#input.audio(samples);
  }

  digits(keys: string): void {
    this.#input.digits(keys);
  }

  /** The call has ended. May be called twice. */
  end(error?: Error): void {
    this.#input.end(error);
  }
}
