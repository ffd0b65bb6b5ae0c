import { dialMs } from '../../../audio/tones/dtmf.js';
import { FRAME_MS, frameSamples } from '../../../audio/frame.js';
import { LineInput } from '../../../transports/line-input.js';
import type { TransferOutcome, Transport, TransportSink } from '../../../transports/transport.js';
import type { CallEndpoint } from './endpoint.js';
import { PHONE_RATE_HZ } from './path.js';

export interface PhoneLineEvents {
  /** The agent's side has closed, and all of its audio was sent. */
  onClosed(): void;
  onDigits(keys: string): void;
  onTransfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
}

/** The agent's side of a simulated call. */
export class PhoneLine implements Transport, CallEndpoint {
  readonly name = 'simulated phone';
  readonly inputRateHz = PHONE_RATE_HZ;
  readonly outputRateHz = PHONE_RATE_HZ;
  /** Omitted on lines with tones only. */
  readonly sendDigits?: (digits: string, signal: AbortSignal) => Promise<void>;
  readonly #events: PhoneLineEvents;
  readonly #out: Int16Array[] = [];
  readonly #input = new LineInput();
  readonly #presses: Press[] = [];
  #gone = false;
  #released = false;
  #closing = false;

  constructor(events: PhoneLineEvents, inBandDigits: boolean) {
    this.#events = events;
    if (!inBandDigits) this.sendDigits = (digits, signal) => this.#press(digits, signal);
  }

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null): void {
    if (frame !== null && !this.#released && !this.#gone && !this.#closing) this.#out.push(frame);
  }

  send(): void {
    // A telephone has no display.
  }

  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    return this.#events.onTransfer(target, signal);
  }

  close(): Promise<void> {
    if (!this.#gone && !this.#closing) {
      this.#closing = true;
      this.#input.end();
      if (this.#out.length === 0) this.#events.onClosed();
    }
    return Promise.resolve();
  }

  /** The far end hears another party from now on. */
  release(): void {
    this.#released = true;
    this.#out.length = 0;
    if (this.#closing) this.#events.onClosed();
  }

  /** The next frame for the far end; also notices the last one before the close. */
  speak(): Int16Array | null {
    this.#pressOn();
    const frame = this.#out.shift() ?? null;
    if (frame !== null && this.#closing && this.#out.length === 0) this.#events.onClosed();
    return frame;
  }

  hear(frame: Int16Array | null): void {
    this.#input.audio(frame ?? SILENCE);
  }

  digits(keys: string): void {
    this.#input.digits(keys);
  }

  gone(): void {
    this.#gone = true;
    this.#out.length = 0;
    for (const { fail } of this.#presses.splice(0)) fail(new Error('the call is over'));
    this.#input.end();
  }

  #press(keys: string, signal: AbortSignal): Promise<void> {
    if (this.#gone) return Promise.reject(new Error('the call is over'));
    return new Promise((resolve, reject) => {
      const press = { keys: [...keys], leftMs: 0, done: resolve, fail: reject };
      this.#presses.push(press);
      const abort = (): void => {
        const at = this.#presses.indexOf(press);
        if (at >= 0) this.#presses.splice(at, 1);
        reject(signal.reason as Error);
      };
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** A tick of the key presses: each counts at its start and takes as long as its tone. */
  #pressOn(): void {
    const press = this.#presses[0];
    if (press === undefined) return;
    press.leftMs -= FRAME_MS;
    if (press.leftMs > 0) return;
    const key = press.keys.shift();
    if (key === undefined) {
      this.#presses.shift();
      press.done();
      return;
    }
    press.leftMs = dialMs(key);
    if (key !== 'w') this.#events.onDigits(key);
  }
}

interface Press {
  readonly keys: string[];
  leftMs: number;
  readonly done: () => void;
  readonly fail: (reason: Error) => void;
}

const SILENCE = new Int16Array(frameSamples(PHONE_RATE_HZ));
