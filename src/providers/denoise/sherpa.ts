import type { Denoiser } from '../../audio/dsp/denoiser.js';
import { HEARING_RATE_HZ, msToSamples } from '../../audio/frame.js';
import { ParleyError } from '../../base/errors.js';
import { EngineProcess } from '../local/engine/engine-process.js';
import type { LocalModel } from '../local/model-facts.js';

/** Longest lag of the denoised audio. Later results are dropped and the input is passed through. */
const MOST_LATE_MS = 200;
/** With this many samples outstanding, the process is checked for a hang. */
const HUNG_SAMPLES = msToSamples(5000, HEARING_RATE_HZ);

export interface SherpaDenoiserOptions {
  model: LocalModel;
  threads: number;
  /** Timeout for loading the model, in milliseconds. Default 30,000. */
  loadTimeoutMs?: number;
  /** Entry point of the process. Default: the package's own; tests replace it with a faulty one. */
  processEntry?: URL;
}

/** A denoising model (GTCRN, DPDFNet) that sherpa-onnx runs in one process for all sessions. */
export class SherpaDenoisers {
  readonly #engine: EngineProcess;
  readonly #name: string;

  constructor({ model, threads, loadTimeoutMs = 30_000, processEntry }: SherpaDenoiserOptions) {
    const { name, engine, config } = model;
    if (engine !== 'denoise')
      throw new ParleyError('MODEL_UNUSABLE', { model: name, reason: 'it is not a noise suppression model' });
    this.#name = name;
    this.#engine = new EngineProcess({
      provider: 'sherpa',
      model: name,
      load: { engine, config, threads, idleMs: null },
      loadTimeoutMs,
      entry: processEntry,
    });
  }

  /** Loads the model. @throws ParleyError as `open` */
  async warmUp(): Promise<void> {
    await this.#engine.ready();
  }

  /**
   * Opens a denoiser for one session.
   * @param strength 0..1: mix of denoised output and unchanged input
   * @param onFault called at most once, when denoising fails; from then on the input is passed through
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

  close(): Promise<void> {
    return this.#engine.close();
  }
}

/**
 * Returns whatever the process has denoised so far, without waiting for it: the output lags by the processing time, at
 * most 200 ms.
 */
class SherpaDenoiser implements Denoiser {
  readonly delaySamples = msToSamples(MOST_LATE_MS, HEARING_RATE_HZ);
  readonly #engine: EngineProcess;
  readonly #strength: number;
  readonly #onFault: (reason: string) => void;
  /** Stream id in the process; null = denoising has stopped. */
  #id: number | null;
  /** Input that has not been returned yet, in order. */
  #raw: Int16Array[] = [];
  #rawSamples = 0;
  /** Denoised audio in order. Its first sample corresponds to the first sample of `#raw`. */
  #clean: Int16Array[] = [];
  #cleanSamples = 0;
  /** Outstanding denoised samples to discard: the input has already been returned in their place. */
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

/** Removes and returns the first `count` samples of a list of chunks. */
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
