/**
 * WebRTC's VAD: a few microseconds a frame, for machines packed with calls. It judges by the shape of the spectrum
 * alone, so steady noise, keyboards and music often pass for speech.
 */

import { ParleyError } from '../../base/errors.js';
import type { VadDetector, VadProvider } from './vad.js';
import { WindowBuffer } from './silero/window-buffer.js';
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { HEARING_RATE_HZ } from '../../audio/frame.js';

export interface WebRtcOptions {
  /** Build to use. Default: native if available and allowed, else WASM. */
  readonly kernel?: WebRtcKernelName;
}

/** How much of the probability each window makes up. */
const WEIGHT = 0.4;

/**
 * The provider `webrtc`. WebRTC's code gives only yes or no per window; the probability is the share of recent
 * windows with speech, weighted towards the latest. From silence, a threshold of 0.5 is reached by 2 windows of
 * speech in a row (40 ms), 0.8 by 4, 0.9 by 5.
 */
export class WebRtcVad implements VadProvider {
  readonly name = 'webrtc';
  readonly #wanted: WebRtcKernelName | undefined;
  #kernel: WebRtcKernel | null = null;

  constructor(options: WebRtcOptions = {}) {
    this.#wanted = options.kernel;
  }

  /** @throws ParleyError `PROVIDER_FAILED` if the requested build, or neither build, runs here. */
  async warmUp(): Promise<void> {
    this.#kernel ??=
      (this.#wanted === 'wasm' ? null : nativeWebRtcKernel()) ??
      (this.#wanted === 'native' ? null : await wasmWebRtcKernel());
    if (this.#kernel === null) throw failed(`its ${this.#wanted ?? 'WASM'} build does not run here`);
  }

  /** @throws ParleyError `PROVIDER_FAILED` before `warmUp` */
  createDetector(): VadDetector {
    if (this.#kernel === null) throw failed('it was not warmed up');
    return new WebRtcDetector(this.#kernel);
  }
}

class WebRtcDetector implements VadDetector {
  readonly windowSamples = WEBRTC_WINDOW;
  readonly #windows: WindowBuffer;
  #judge: WebRtcJudge | null;
  #probability = 0;
  #onWindow: ((probability: number, endSample: number) => void) | null = null;

  constructor(kernel: WebRtcKernel) {
    this.#windows = new WindowBuffer(WEBRTC_WINDOW, (endSample) => {
      const isSpeech = this.#judge?.isSpeech() === true;
      this.#probability += WEIGHT * ((isSpeech ? 1 : 0) - this.#probability);
      this.#onWindow?.(this.#probability, endSample);
    });
    this.#judge = kernel.createJudge(this.#windows.window);
  }

  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void {
    if (this.#judge === null) return;
    this.#onWindow = onWindow;
    this.#windows.push(samples);
  }

  reset(): void {
    if (this.#judge === null) return;
    this.#judge.reset();
    this.#probability = 0;
    this.#windows.reset();
  }

  close(): void {
    this.#judge?.free();
    this.#judge = null;
    this.#onWindow = null;
  }
}

function failed(reason: string): ParleyError {
  return new ParleyError('PROVIDER_FAILED', { provider: 'webrtc', reason });
}

/** `native`: the optional package `webrtcvad`; `wasm`: `@echogarden/fvad-wasm`. */
export const WEBRTC_KERNELS = ['native', 'wasm'] as const;
export type WebRtcKernelName = (typeof WEBRTC_KERNELS)[number];

/** 20 ms: one frame of the media path. */
export const WEBRTC_WINDOW = 320;
/** The strictest of the four; the others take most noise for speech. */
const MODE = 3;

export interface WebRtcKernel {
  readonly name: WebRtcKernelName;
  /** A judge of one stream. @param window `WEBRTC_WINDOW` samples, read at each `isSpeech` */
  createJudge(window: Int16Array): WebRtcJudge;
}

export interface WebRtcJudge {
  /** Whether what the window holds now, which follows what it held before, is speech. */
  isSpeech(): boolean;
  /** Forgets the stream. */
  reset(): void;
  /** The last call. */
  free(): void;
}

/** What `webrtcvad` exports. */
interface NativePackage {
  readonly default: new (sampleRateHz: number, mode: number) => { process(samples: Buffer): boolean };
}

/** Exports of `@echogarden/fvad-wasm`. Pointers and handles are numbers. */
interface FvadModule {
  /** Another one whenever the memory grows. */
  readonly HEAP16: Int16Array;
  _malloc(bytes: number): number;
  _fvad_new(): number;
  _fvad_free(handle: number): void;
  /** Back to mode 0 and 8 kHz, too. */
  _fvad_reset(handle: number): void;
  _fvad_set_mode(handle: number, mode: number): number;
  _fvad_set_sample_rate(handle: number, rateHz: number): number;
  /** 1 for speech, 0 for none, -1 for a wrong length. */
  _fvad_process(handle: number, samples: number, length: number): number;
}

/**
 * Null where the optional package is not installed or did not compile, and off the main thread: it keeps a reference in
 * a C++ global, and a second thread that loads it brings the process down.
 * @param require how to load the package
 */
export function nativeWebRtcKernel(
  require: (name: string) => unknown = createRequire(import.meta.url),
): WebRtcKernel | null {
  if (!isMainThread) return null;
  let Vad: NativePackage['default'];
  try {
    ({ default: Vad } = require('webrtcvad') as NativePackage);
  } catch {
    return null;
  }
  return {
    name: 'native',
    createJudge(window) {
      const bytes = Buffer.from(window.buffer, window.byteOffset, window.byteLength);
      let vad = new Vad(HEARING_RATE_HZ, MODE);
      return {
        isSpeech: () => vad.process(bytes),
        reset: () => void (vad = new Vad(HEARING_RATE_HZ, MODE)),
        free: () => undefined, // goes with the garbage
      };
    },
  };
}

let wasm: Promise<WebRtcKernel | null> | undefined;

/** The one of this thread; null where the engine has no WebAssembly (`node --jitless`). */
export function wasmWebRtcKernel(): Promise<WebRtcKernel | null> {
  wasm ??= loadWasm();
  return wasm;
}

async function loadWasm(): Promise<WebRtcKernel | null> {
  if (!('WebAssembly' in globalThis)) return null;
  // By its address: the package has no types.
  const entry = import.meta.resolve('@echogarden/fvad-wasm');
  const { default: instantiate } = (await import(entry)) as { default: () => Promise<FvadModule> };
  const module = await instantiate();
  // One for all: a judge fills it and reads it at once.
  const samples = module._malloc(WEBRTC_WINDOW * Int16Array.BYTES_PER_ELEMENT);
  return {
    name: 'wasm',
    createJudge(window) {
      const handle = module._fvad_new();
      if (handle === 0) throw new RangeError('the memory of the WebRTC VAD is full');
      const begin = (): void => {
        module._fvad_reset(handle);
        module._fvad_set_mode(handle, MODE);
        module._fvad_set_sample_rate(handle, HEARING_RATE_HZ);
      };
      begin();
      return {
        isSpeech() {
          module.HEAP16.set(window, samples / Int16Array.BYTES_PER_ELEMENT);
          return module._fvad_process(handle, samples, WEBRTC_WINDOW) === 1;
        },
        reset: begin,
        free: () => module._fvad_free(handle),
      };
    },
  };
}
