import { access, readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import { HEARING_RATE_HZ, samplesToMs } from '../../audio/frame.js';
import type { Clock } from '../../base/clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { workerFile } from '../../package-files.js';
import { calibrated, type Calibration } from './calibration.js';
import type { OnnxAnswer, OnnxQuestion, OnnxWorkerData } from './onnx-worker.js';
import type { TurnSignature, StreamSignature } from './signature.js';
import type { TurnModel, TurnRequest, TurnStream } from './turn.js';

export interface OnnxTurnModelOptions {
  /**
   * An ONNX file. With one input it gets windows: an input called `input_features` Whisper's log-mel spectrogram of 8 s
   * (1 × 80 × 800), as for Smart Turn v3; any other the samples (1 × 128,000). The output is the probability that the
   * turn is over, its logit, or a pair of logits. With several inputs it gets audio as it comes, and its states
   * (docs/flow/end-of-turn.md). A function is called when the file is needed; it rejects with a ParleyError if there is
   * none. `FILE.calibration.json` beside it turns its scores into probabilities.
   */
  path: string | (() => Promise<string>);
  /**
   * The package that runs it, or several of which the first installed one does. Default `onnxruntime-node`, else `onnxruntime-web`, which is slower but needs no install
   * script. The operator installs one of them next to parley.
   */
  runtime?: string | readonly string[];
  /** The worker's entry; the built one by default. */
  workerEntry?: URL;
}

const WINDOW_S = 8;
/** Supported runtimes, the fastest first. */
export const TURN_RUNTIMES = ['onnxruntime-node', 'onnxruntime-web'] as const;
/** Latency in virtual time. */
const LATENCY_MS = 40;

/** Waits for the model to be loaded. */
const LOADING = 0;
const calibrationSchema = z.strictObject({ slope: z.number(), intercept: z.number() });

interface Waiting {
  resolve(value: number): void;
  reject(error: Error): void;
}

/** An audio model in its own thread, because inference blocks. All calls of an engine share it. */
export class OnnxTurnModel implements TurnModel {
  readonly name = 'onnx';
  readonly virtualTime = true;
  readonly windowS = WINDOW_S;
  readonly #options: OnnxTurnModelOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #warm: Promise<void> | null = null;
  readonly #streams = new Map<number, OnnxTurnStream>();
  #signature: TurnSignature | null = null;
  #calibration: Calibration | null = null;
  #nextId = 1;
  #closed = false;
  /** The file's name in errors. */
  #path: string;

  constructor(options: OnnxTurnModelOptions) {
    this.#options = options;
    this.#path = typeof options.path === 'string' ? options.path : 'turn model';
  }

  /** @throws ParleyError TURN_MODEL_UNUSABLE, with what is missing or wrong */
  warmUp(): Promise<void> {
    this.#warm ??= this.#load().catch((error: unknown) => {
      this.#warm = null;
      throw error;
    });
    return this.#warm;
  }

  async judge({ samples, clock, signal }: TurnRequest): Promise<number> {
    signal.throwIfAborted();
    await this.warmUp();
    const stream = this.#stream(clock, true);
    if (stream !== null) return judgeWindow(stream, samples, signal);
    const asked = this.#ask((id) => ({ type: 'window', id, samples }));
    const score = await clock.settle(asked, clock.nowMs() + LATENCY_MS);
    signal.throwIfAborted();
    return this.#calibrated(score);
  }

  open(clock: Clock): TurnStream | null {
    return this.#stream(clock, clock.virtual);
  }

  /** @param waits whether the stream may have any amount of audio at once */
  #stream(clock: Clock, waits: boolean): TurnStream | null {
    if (this.#signature?.kind !== 'stream') return null;
    const id = this.#nextId++;
    const port: StreamPort = {
      restart: () => {
        if (this.#worker === null && !this.#closed) this.warmUp().catch(() => undefined); // judge says what is wrong
      },
      send: (question) => {
        this.#worker?.postMessage(question);
        return this.#worker !== null;
      },
      ask: async (samples, signal) => {
        const asked = this.#ask((question) => ({ type: 'ask', id: question, stream: id, samples }));
        const score = await clock.settle(asked, clock.nowMs() + STREAM_LATENCY_MS);
        signal.throwIfAborted();
        return this.#calibrated(score);
      },
      closed: () => this.#streams.delete(id),
    };
    const stream = new OnnxTurnStream(id, port, this.#signature, waits);
    this.#streams.set(id, stream);
    return stream;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#worker = null;
    this.#streams.clear();
    this.#rejectAll(new ParleyError('SESSION_CLOSED'));
    await worker?.terminate();
  }

  async #load(): Promise<void> {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    const { runtime, workerEntry = workerFile('providers/turn/onnx-worker') } = this.#options;
    const path = await this.#file();
    try {
      await access(path);
    } catch {
      throw this.#unusable('the file does not exist');
    }
    this.#calibration = await this.#calibrationBeside(path);
    if (this.#isClosed()) throw new ParleyError('SESSION_CLOSED');
    const runtimes = runtime === undefined ? TURN_RUNTIMES : [runtime].flat();
    const data: OnnxWorkerData = { path, runtimes, windowSamples: WINDOW_S * HEARING_RATE_HZ };
    const worker = new Worker(workerEntry, { workerData: data });
    this.#worker = worker;
    let reason = 'its thread ended';
    worker.on('error', (error) => {
      reason = reasonOf(error);
    });
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#warm = null; // the next question, or the next turn of a stream, starts another
      for (const stream of this.#streams.values()) stream.lost();
      this.#rejectAll(this.#unusable(reason));
    });
    worker.on('message', (answer: OnnxAnswer) => this.#onAnswer(answer));
    try {
      await new Promise<number>((resolve, reject) => this.#waiting.set(LOADING, { resolve, reject }));
    } catch (error) {
      this.#worker = null;
      await worker.terminate();
      const missing = /Cannot find (?:package|module)/u.test(reasonOf(error));
      if (missing) throw this.#unusable(notInstalled(runtimes));
      throw error;
    }
  }

  async #file(): Promise<string> {
    const { path } = this.#options;
    if (typeof path === 'string') return path;
    this.#path = await path();
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    return this.#path;
  }

  /** Null = its scores are probabilities. */
  async #calibrationBeside(path: string): Promise<Calibration | null> {
    let text: string;
    try {
      text = await readFile(`${path}.calibration.json`, 'utf8');
    } catch {
      return null;
    }
    try {
      return calibrationSchema.parse(JSON.parse(text));
    } catch {
      throw this.#unusable('the calibration beside it must be {"slope": number, "intercept": number}');
    }
  }

  #calibrated(score: number): number {
    return this.#calibration === null ? score : calibrated(score, this.#calibration);
  }

  #ask(question: (id: number) => OnnxQuestion): Promise<number> {
    const id = this.#nextId++;
    return new Promise<number>((resolve, reject) => {
      if (this.#worker === null) {
        reject(this.#closed ? new ParleyError('SESSION_CLOSED') : this.#unusable('its thread ended'));
        return;
      }
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage(question(id));
    });
  }

  #onAnswer(answer: OnnxAnswer): void {
    if (answer.type === 'steps') {
      this.#streams.get(answer.stream)?.done(answer.steps);
      return;
    }
    const id = 'id' in answer ? answer.id : LOADING;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (answer.type === 'ready') {
      this.#signature = answer.signature;
      waiting?.resolve(0);
    } else if (answer.type === 'value') waiting?.resolve(answer.value);
    else waiting?.reject(this.#unusable(answer.reason));
  }

  #unusable(reason: string): ParleyError {
    return new ParleyError('TURN_MODEL_UNUSABLE', { path: this.#path, reason });
  }

  /** A check that the compiler takes for new: `close` may have been called meanwhile. */
  #isClosed(): boolean {
    return this.#closed;
  }

  #rejectAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(error);
  }
}

async function judgeWindow(stream: TurnStream, samples: Int16Array, signal: AbortSignal): Promise<number> {
  try {
    stream.start();
    stream.push(samples);
    return await stream.judge(signal);
  } finally {
    stream.close();
  }
}

/** The package that runs turn models here; null = none is installed. */
export function turnRuntime(): string | null {
  const isInstalled = (name: string): boolean => {
    try {
      import.meta.resolve(name);
      return true;
    } catch {
      return false;
    }
  };
  return TURN_RUNTIMES.find(isInstalled) ?? null;
}

function notInstalled(runtimes: readonly string[]): string {
  const [first = '', ...others] = runtimes;
  if (others.length === 0) return `the package ${first} is not installed; run npm install ${first}`;
  const last = others.at(-1) ?? '';
  return `neither ${runtimes.join(' nor ')} is installed; run npm install ${last}`;
}

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
