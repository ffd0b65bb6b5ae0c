/** Silero VAD v6: a small recurrent network that tells speech from noise, music and keyboards. The default. */
import { ParleyError } from '../../errors.js';
import { fastestSileroKernel, sileroKernel, type SileroKernel, type SileroKernelName } from './silero-kernel.js';
import { SILERO_STATE, SILERO_WINDOW } from './silero-model.js';
import type { VadDetector, VadProvider } from './vad.js';
import { WindowBuffer } from './window-buffer.js';

export interface SileroOptions {
  /** How to compute; default the fastest that runs here. */
  readonly kernel?: SileroKernelName;
}

/** The provider `silero`. Its detectors share one copy of the weights; each has 2.3 KB of its own. */
export class SileroVad implements VadProvider {
  readonly name = 'silero';
  readonly #wanted: SileroKernelName | undefined;
  #kernel: SileroKernel | null = null;

  constructor(options: SileroOptions = {}) {
    this.#wanted = options.kernel;
  }

  /** @throws ParleyError `PROVIDER_FAILED` when the weights are damaged or the kernel asked for does not run here. */
  warmUp(): Promise<void> {
    return new Promise((resolve) => {
      // The first windows run uncompiled code; better now than in a call.
      const kernel = this.#load();
      const state = new Float32Array(SILERO_STATE);
      const silence = new Int16Array(SILERO_WINDOW);
      for (let i = 0; i < 20; i++) kernel.run(state, silence);
      resolve();
    });
  }

  createDetector(): VadDetector {
    return new SileroDetector(this.#load());
  }

  #load(): SileroKernel {
    if (this.#kernel !== null) return this.#kernel;
    const kernel = this.#wanted === undefined ? fastestSileroKernel() : sileroKernel(this.#wanted);
    if (kernel === null) {
      throw new ParleyError('PROVIDER_FAILED', {
        provider: 'silero',
        reason: `its ${this.#wanted} kernel does not run here`,
      });
    }
    this.#kernel = kernel;
    return kernel;
  }
}

class SileroDetector implements VadDetector {
  readonly windowSamples = SILERO_WINDOW;
  readonly #state = new Float32Array(SILERO_STATE);
  readonly #windows: WindowBuffer;
  #onWindow: ((probability: number, endSample: number) => void) | null = null;
  #closed = false;

  constructor(kernel: SileroKernel) {
    this.#windows = new WindowBuffer(SILERO_WINDOW, (endSample) => {
      this.#onWindow?.(kernel.run(this.#state, this.#windows.window), endSample);
    });
  }

  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void {
    if (this.#closed) return;
    this.#onWindow = onWindow;
    this.#windows.push(samples);
  }

  reset(): void {
    this.#state.fill(0);
    this.#windows.reset();
  }

  close(): void {
    this.#closed = true;
    this.#onWindow = null;
  }
}
