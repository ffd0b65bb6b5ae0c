import { HEARING_RATE_HZ } from '../frame.js';
import type { Denoiser } from './denoiser.js';
import { Resampler } from './resample.js';

/** Exports of `@echogarden/rnnoise-wasm`. Pointers are numbers. */
interface RnnoiseModule {
  /** Another one whenever the memory grows. */
  readonly HEAPF32: Float32Array;
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  /** 0 = the network of the package. */
  _rnnoise_create(model: number): number;
  _rnnoise_destroy(state: number): void;
  /** Denoises a frame in the range of 16-bit samples; returns the probability of speech. */
  _rnnoise_process_frame(state: number, out: number, input: number): number;
}

/** The network's rate and its frame of 10 ms. */
const RATE_HZ = 48_000;
const FRAME = 480;
/** What comes out of the network lies this much later than what went in: one frame of overlap. */
const NETWORK_DELAY = FRAME;

let loading: Promise<RnnoiseModule> | undefined;

/** Compiles the network (125 kB of WebAssembly), once for the thread. */
async function load(): Promise<RnnoiseModule> {
  // By its address: the package has no types.
  const entry = import.meta.resolve('@echogarden/rnnoise-wasm');
  const { default: instantiate } = (await import(entry)) as { default: () => Promise<RnnoiseModule> };
  return instantiate();
}

/**
 * RNNoise (J.-M. Valin, "A Hybrid DSP/Deep Learning Approach to Real-Time Full-Band Speech Enhancement", 2018): a small
 * recurrent network that turns down 22 bands of the spectrum, frame by frame. It works at 48 kHz, so the audio is
 * resampled there and back.
 *
 * @param strength 0..1: how much of the output is denoised; the rest is the input as it was
 */
export async function rnnoise(strength = 1): Promise<Denoiser> {
  loading ??= load();
  return new Rnnoise(await loading, strength);
}

class Rnnoise implements Denoiser {
  readonly delaySamples: number;
  readonly #module: RnnoiseModule;
  readonly #strength: number;
  readonly #up = new Resampler(HEARING_RATE_HZ, RATE_HZ);
  readonly #down = new Resampler(RATE_HZ, HEARING_RATE_HZ);
  /** The frame that the network reads and writes, in its memory. */
  readonly #buffer: number;
  #state: number;
  #frame = new Int16Array(FRAME);
  #filled = 0;
  /** The frame before, as it was: what lies at the same time as the network's output. */
  #before = new Int16Array(FRAME);
  readonly #mixed = new Int16Array(FRAME);
  /** Samples of the output that lie before the input's first. */
  #skip: number;
  #out = new Int16Array(1024);

  constructor(module: RnnoiseModule, strength: number) {
    this.#module = module;
    this.#strength = strength;
    this.#state = module._rnnoise_create(0);
    this.#buffer = module._malloc(4 * FRAME);
    const atHearing = (samples: number): number => (samples * HEARING_RATE_HZ) / RATE_HZ;
    this.#skip = Math.round(atHearing(this.#up.delaySamples + NETWORK_DELAY) + this.#down.delaySamples);
    this.delaySamples = this.#skip + atHearing(FRAME);
  }

  process(samples: Int16Array): Int16Array {
    const raised = this.#up.process(samples);
    let written = 0;
    for (let at = 0; at < raised.length;) {
      const count = Math.min(raised.length - at, FRAME - this.#filled);
      this.#frame.set(raised.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
      if (this.#filled === FRAME) written = this.#give(this.#down.process(this.#cleaned()), written);
    }
    return this.#out.subarray(0, written);
  }

  close(): void {
    if (this.#state === 0) return;
    this.#module._rnnoise_destroy(this.#state);
    this.#module._free(this.#buffer);
    this.#state = 0;
  }

  /** The next frame of the output at the network's rate. */
  #cleaned(): Int16Array {
    const [frame, before, mixed, strength] = [this.#frame, this.#before, this.#mixed, this.#strength];
    const at = this.#buffer / 4;
    this.#module.HEAPF32.set(frame, at);
    this.#module._rnnoise_process_frame(this.#state, this.#buffer, this.#buffer);
    const clean = this.#module.HEAPF32; // read again, because the memory may have grown
    for (let i = 0; i < FRAME; i++) {
      const value = Math.round(strength * clean[at + i]! + (1 - strength) * before[i]!);
      mixed[i] = value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value;
    }
    this.#frame = before;
    this.#before = frame;
    this.#filled = 0;
    return mixed;
  }

  #give(samples: Int16Array, written: number): number {
    const skip = Math.min(this.#skip, samples.length);
    this.#skip -= skip;
    const length = written + samples.length - skip;
    if (length > this.#out.length) {
      const larger = new Int16Array(2 * length);
      larger.set(this.#out.subarray(0, written));
      this.#out = larger;
    }
    this.#out.set(samples.subarray(skip), written);
    return length;
  }
}
