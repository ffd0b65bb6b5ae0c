/**
 * WebRTC's VAD: a few microseconds a frame, for machines packed with calls. It judges by the shape of the spectrum
 * alone, so steady noise, keyboards and music often pass for speech.
 */
import { ParleyError } from '../../../base/errors.js';
import type { VadDetector, VadProvider } from '../vad.js';
import {
  nativeWebRtcKernel,
  WEBRTC_WINDOW,
  wasmWebRtcKernel,
  type WebRtcJudge,
  type WebRtcKernel,
  type WebRtcKernelName,
} from './webrtc-kernel.js';
import { WindowBuffer } from '../silero/window-buffer.js';

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
