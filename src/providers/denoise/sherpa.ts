import type { Denoiser } from '../../audio/dsp/denoiser.js';
import { HEARING_RATE_HZ, msToSamples } from '../../audio/frame.js';
import { ParleyError } from '../../base/errors.js';
import { EngineProcess } from '../local/engine/engine-process.js';
import type { LocalModel } from '../local/model-facts.js';

/** What comes later than this is not waited for: the sound is given as it was. */
const MOST_LATE_MS = 200;
/** Of a process that owes so much it is found out whether it still answers. */
const HUNG_SAMPLES = msToSamples(5000, HEARING_RATE_HZ);

export interface SherpaDenoiserOptions {
  model: LocalModel;
  threads: number;
  /** Until the model is loaded, in milliseconds. Default 30,000. */
  loadTimeoutMs?: number;
  /** The process's code. Default the package's own; tests put a faulty one here. */
  processEntry?: URL;
}

/** A model that takes noise out (GTCRN, DPDFNet), run by sherpa-onnx in a process of its own for all sessions. */
export class SherpaDenoisers {
  readonly #engine: EngineProcess;
  readonly #name: string;

  constructor({ model, threads, loadTimeoutMs = 30_000, processEntry }: SherpaDenoiserOptions) {
    const { name, engine, config } = model;
    if (engine !== 'denoise') throw new ParleyError('MODEL_UNUSABLE', { model: name, reason: 'it takes no noise out' });
    this.#name = name;
    this.#engine = new EngineProcess({
      provider: 'sherpa',
      model: name,
      load: { engine, config, threads, idleMs: null },
      loadTimeoutMs,
      ...(processEntry !== undefined && { entry: processEntry }),
    });
  }

  /** Loads the model. @throws ParleyError as `open` */
  async warmUp(): Promise<void> {
    await this.#engine.ready();
  }

  /**
   * One for a session.
   * @param strength 0..1: how much of the output is denoised; the rest is the input as it was
   * @param onFault it cannot go on: from now on the sound is given as it is. Called once at most
   * @throws ParleyError LOCAL_ENGINE_MISSING, MODEL_UNUSABLE, PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  async open(strength: number, onFault: (reason: string) => void): Promise<Denoiser> {
    const { sampleRateHz } = await this.#engine.ready();
    if (sampleRateHz !== HEARING_RATE_HZ) {
      const reason = `it works at ${String(sampleRateHz)} Hz, not at ${String(HEARING_RATE_HZ)}`;
      throw new ParleyError('MODEL_UNUSABLE', { model: this.#name, reason });
    }
    return new SherpaDenoiser(this.#engine, strength, onFault);
  }

  /** May be called twice. */
  close(): Promise<void> {
    return this.#engine.close();
  }
}

/**
 * Gives what has come back from the process by now: the sound lags by what that takes, and never by more than 200 ms. The
 * process itself is never waited for.
 */
class SherpaDenoiser implements Denoiser {
  readonly delaySamples = msToSamples(MOST_LATE_MS, HEARING_RATE_HZ);
  readonly #engine: EngineProcess;
  readonly #strength: number;
  readonly #onFault: (reason: string) => void;
  /** The process's stream; null = it does not denoise any more. */
  #id: number | null;
  /** What was heard and not given yet, in order. */
  #raw: Int16Array[] = [];
  #rawSamples = 0;
  /** What has come back of it, in order; its first sample belongs to the first of `#raw`. */
  #clean: Int16Array[] = [];
  #cleanSamples = 0;
  /** Samples to come back that have been given as they were. */
  #skip = 0;

  constructor(engine: EngineProcess, strength: number, onFault: (reason: string) => void) {
    this.#engine = engine;
    this.#strength = strength;
    this.#onFault = onFault;
    this.#id = engine.join({
      onReply: (reply) => {
        if (reply.type === 'audio') this.#came(reply.samples);
        if (reply.type === 'failed') this.#stop(reply.reason);
      },
      onEnd: ({ message }) => this.#stop(message),
    });
    engine.send({ type: 'open', id: this.#id });
  }

  process(samples: Int16Array): Int16Array {
    this.#raw.push(samples.slice());
    this.#rawSamples += samples.length;
    if (this.#id !== null) this.#engine.send({ type: 'audio', id: this.#id, samples });
    const clean = take(this.#clean, this.#cleanSamples);
    this.#cleanSamples = 0;
    const late = this.#id === null ? this.#rawSamples : this.#rawSamples - this.delaySamples;
    const count = Math.min(this.#rawSamples, Math.max(clean.length, late));
    const out = take(this.#raw, count);
    this.#rawSamples -= count;
    if (this.#id !== null) this.#skip += Math.max(0, count - clean.length);
    if (this.#skip > HUNG_SAMPLES) this.#engine.suspect();
    const share = this.#strength;
    for (let index = 0; index < clean.length && index < count; index++) {
      out[index] = Math.round(share * (clean[index] as number) + (1 - share) * (out[index] as number));
    }
    return out;
  }

  close(): void {
    if (this.#id === null) return;
    this.#engine.leave(this.#id);
    this.#id = null;
  }

  #came(samples: Int16Array): void {
    const skipped = Math.min(this.#skip, samples.length);
    this.#skip -= skipped;
    if (skipped === samples.length) return;
    this.#clean.push(samples.subarray(skipped));
    this.#cleanSamples += samples.length - skipped;
  }

  #stop(reason: string): void {
    if (this.#id === null) return;
    this.close();
    this.#onFault(reason);
  }
}

/** The first `count` samples of several pieces, which lose them. */
function take(pieces: Int16Array[], count: number): Int16Array {
  const out = new Int16Array(count);
  for (let at = 0; at < count;) {
    const [first = new Int16Array(0)] = pieces;
    const part = first.subarray(0, count - at);
    out.set(part, at);
    at += part.length;
    if (part.length === first.length) pieces.shift();
    else pieces[0] = first.subarray(part.length);
  }
  return out;
}
