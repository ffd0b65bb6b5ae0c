import { access } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { HEARING_RATE_HZ } from '../../audio/frame.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { workerFile } from '../../package-files.js';
import type { OnnxAnswer, OnnxQuestion, OnnxWorkerData } from './onnx-worker.js';
import type { TurnModel, TurnRequest } from './turn.js';

export interface OnnxTurnModelOptions {
  /**
   * An ONNX file with one input and one output. An input called `input_features` gets Whisper's log-mel spectrogram of
   * 8 s (1 × 80 × 800), as for Smart Turn v3; any other gets the samples (1 × 128,000). The output is the
   * probability that the turn is over, its logit, or a pair of logits. A function is called when the file is
   * needed; it rejects with a ParleyError if there is none.
   */
  path: string | (() => Promise<string>);
  /**
   * The package that runs it. Default `onnxruntime-node`, else `onnxruntime-web`, which is slower but needs no install
   * script. The operator installs one of them next to parley.
   */
  runtime?: string;
  /** The worker's entry; the built one by default. */
  workerEntry?: URL;
}

const WINDOW_S = 8;
/** Supported runtimes, the fastest first. */
export const TURN_RUNTIMES = ['onnxruntime-node', 'onnxruntime-web'] as const;
/** Latency in virtual time. */
const LATENCY_MS = 40;

interface Waiting {
  resolve(value: number): void;
  reject(error: Error): void;
}

/** An audio model in its own thread, because inference blocks. */
export class OnnxTurnModel implements TurnModel {
  readonly name = 'onnx';
  readonly virtualTime = true;
  readonly windowS = WINDOW_S;
  readonly #options: OnnxTurnModelOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #warm: Promise<void> | null = null;
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
    const id = this.#nextId++;
    const asked = new Promise<number>((resolve, reject) => {
      if (this.#worker === null) {
        reject(this.#closed ? new ParleyError('SESSION_CLOSED') : this.#unusable('its thread ended'));
        return;
      }
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, samples } satisfies OnnxQuestion);
    });
    const probability = await clock.settle(asked, clock.nowMs() + LATENCY_MS);
    signal.throwIfAborted();
    return probability;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#worker = null;
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
    const runtimes = runtime === undefined ? TURN_RUNTIMES : [runtime];
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
      this.#warm = null; // the next question starts another
      this.#rejectAll(this.#unusable(reason));
    });
    worker.on('message', (answer: OnnxAnswer) => this.#onAnswer(answer));
    try {
      await new Promise<number>((resolve, reject) => this.#waiting.set(0, { resolve, reject }));
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

  #onAnswer(answer: OnnxAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (answer.ok) waiting?.resolve(answer.value);
    else waiting?.reject(this.#unusable(answer.reason));
  }

  #unusable(reason: string): ParleyError {
    return new ParleyError('TURN_MODEL_UNUSABLE', { path: this.#path, reason });
  }

  #rejectAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(error);
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
