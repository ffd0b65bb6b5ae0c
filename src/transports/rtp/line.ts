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

/** Sound and keys that come before the session listens are kept so long: a second of packets. */
const MAX_EARLY = 50;

/** The agent's end of a call over RTP. */
export class RtpLine implements Transport {
  readonly name = 'rtp';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly transfer?: (target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  readonly #ends: LineEnds;
  #early: ((sink: TransportSink) => void)[] = [];
  #sink: TransportSink | null = null;
  #isStarted = false;
  #isOver = false;
  #error: Error | undefined;

  constructor(rateHz: number, ends: LineEnds) {
    this.#ends = ends;
    this.inputRateHz = rateHz;
    this.outputRateHz = rateHz;
    if (ends.transfer !== undefined) this.transfer = ends.transfer;
  }

  start(sink: TransportSink): void {
    this.#isStarted = true;
    if (this.#isOver) {
      sink.closed(this.#error);
      return;
    }
    this.#sink = sink;
    for (const deliver of this.#early.splice(0)) deliver(sink);
  }

  play(frame: Int16Array | null): void {
    if (!this.#isOver) this.#ends.play(frame);
  }

  send(): void {
    // A telephone shows nothing.
  }

  sendDigits(digits: string, signal: AbortSignal): Promise<void> {
    return this.#isOver ? Promise.reject(new Error('the call is over')) : this.#ends.press(digits, signal);
  }

  lineStats(): LineStats {
    return this.#ends.lineStats();
  }

  close(): Promise<void> {
    if (!this.#isOver) {
      this.end();
      this.#ends.lineClosed();
    }
    return Promise.resolve();
  }

  /** Sound of the other side; it may be overwritten afterwards. */
  hear(samples: Int16Array): void {
    if (this.#sink !== null) this.#sink.audio(samples);
    else if (!this.#isStarted) {
      const copy = samples.slice();
      this.#keep((sink) => sink.audio(copy));
    }
  }

  digits(keys: string): void {
    if (this.#sink !== null) this.#sink.digits(keys);
    else if (!this.#isStarted) this.#keep((sink) => sink.digits(keys));
  }

  /** The call is over. May be called twice. */
  end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#early = [];
    const sink = this.#sink;
    this.#sink = null;
    sink?.closed(error);
  }

  #keep(deliver: (sink: TransportSink) => void): void {
    if (!this.#isOver && this.#early.push(deliver) > MAX_EARLY) this.#early.shift();
  }
}
