import { HEARING_RATE_HZ, samplesToMs } from '../../audio/frame.js';
import type { OnnxQuestion } from './onnx-worker.js';
import type { StreamSignature } from './signature.js';
import type { TurnStream } from './turn.js';

/** Latency of an answer in virtual time. */
export const STREAM_LATENCY_MS = 10;
/** A model with more audio than this before it has fallen behind: an answer would be of no use. */
const MAX_BACKLOG_MS = 2000;

/** A stream's side of the thread. */
export interface StreamPort {
  /** Starts a thread if there is none. */
  restart(): void;
  /** Returns whether there is a thread. */
  send(question: OnnxQuestion): boolean;
  ask(samples: Int16Array, signal: AbortSignal): Promise<number>;
  closed(): void;
}

/** Cuts a call's audio into steps of the model. */
export class OnnxTurnStream implements TurnStream {
  readonly stepMs: number;
  readonly leadMs: number;
  readonly #id: number;
  readonly #port: StreamPort;
  readonly #step: Int16Array;
  readonly #waits: boolean;
  #filled = 0;
  /** Steps that were sent and are not done. */
  #backlog = 0;
  /** Why there is no answer in this turn; null = there is. */
  #fault: string | null = 'the turn has not begun';
  #closed = false;

  /** @param waits whether each step waits for the model, as in virtual time: it cannot fall behind then */
  constructor(id: number, port: StreamPort, { stepSamples, leadMs }: StreamSignature, waits: boolean) {
    this.#id = id;
    this.#port = port;
    this.#step = new Int16Array(stepSamples);
    this.#waits = waits;
    this.stepMs = samplesToMs(stepSamples, HEARING_RATE_HZ);
    this.leadMs = leadMs;
  }

  start(): void {
    if (this.#closed) return;
    this.#filled = 0;
    this.#backlog = 0;
    this.#port.restart();
    this.#fault = this.#port.send({ type: 'start', stream: this.#id }) ? null : 'its thread ended';
  }

  push(samples: Int16Array): void {
    if (this.#fault !== null || this.#closed) return;
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + this.#step.length - this.#filled);
      this.#step.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < this.#step.length) continue;
      this.#filled = 0;
      this.#backlog++;
      if (!this.#waits && this.#backlog * this.stepMs > MAX_BACKLOG_MS) {
        this.#fault = 'it does not keep up with the audio';
        return;
      }
      this.#port.send({ type: 'step', stream: this.#id, samples: this.#step.slice() });
    }
  }

  async judge(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    if (this.#closed) throw new Error('the stream is closed');
    if (this.#fault !== null) throw new Error(this.#fault);
    return this.#port.ask(this.#step.slice(0, this.#filled), signal);
  }

  /** The thread has done so many of its steps. */
  done(steps: number): void {
    this.#backlog = Math.max(0, this.#backlog - steps);
  }

  /** The thread has ended, and the state with it. */
  lost(): void {
    this.#fault = 'its thread ended';
    this.#backlog = 0;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#port.send({ type: 'close', stream: this.#id });
    this.#port.closed();
  }
}
