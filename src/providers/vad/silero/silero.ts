/** Silero VAD v6: a small recurrent network that distinguishes speech from noise, music and keyboards. The default. */
import { gathers } from '../../../base/gathering.js';
import { ParleyError } from '../../../base/errors.js';
import type { SileroBatch, WaitingStream } from './silero-batch.js';
import { fastestSileroKernel, sileroKernel, type SileroKernel, type SileroKernelName } from './silero-kernel.js';
import { SILERO_STATE, SILERO_WINDOW } from './silero-model.js';
import type { DetectorOptions, VadDetector, VadProvider } from '../vad.js';
import { WindowBuffer } from './window-buffer.js';

export interface SileroOptions {
  /** How to compute; default the fastest that runs here. */
  readonly kernel?: SileroKernelName;
}

/** The provider `silero`. Its detectors share one copy of the weights; each adds 2.3 KB. */
export class SileroVad implements VadProvider {
  readonly name = 'silero';
  readonly #wanted: SileroKernelName | undefined;
  #kernel: SileroKernel | null = null;

  constructor(options: SileroOptions = {}) {
    this.#wanted = options.kernel;
  }

  /** @throws ParleyError `PROVIDER_FAILED` if the weights are damaged or the requested kernel does not run here. */
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

  createDetector({ mayWait = false }: DetectorOptions = {}): VadDetector {
    return new SileroDetector(this.#load(), mayWait);
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

class SileroDetector implements VadDetector, WaitingStream {
  readonly windowSamples = SILERO_WINDOW;
  readonly state = new Float32Array(SILERO_STATE);
  readonly #kernel: SileroKernel;
  /** Null: no window waits. */
  readonly #batch: SileroBatch | null;
  readonly #windows: WindowBuffer;
  #onWindow: ((probability: number, endSample: number) => void) | null = null;
  /** The end of the window that waits; null where none does. */
  #waitingEnd: number | null = null;
  #closed = false;

  constructor(kernel: SileroKernel, mayWait: boolean) {
    this.#kernel = kernel;
    this.#batch = mayWait ? kernel.batch : null;
    this.#windows = new WindowBuffer(SILERO_WINDOW, (endSample) => this.#take(endSample));
  }

  get waits(): boolean {
    return this.#waitingEnd !== null;
  }

  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void {
    if (this.#closed) return;
    this.#onWindow = onWindow;
    this.#windows.push(samples);
  }

  computed(probability: number): void {
    const endSample = this.#waitingEnd;
    this.#waitingEnd = null;
    if (endSample !== null) this.#onWindow?.(probability, endSample);
  }

  reset(): void {
    this.#waitingEnd = null;
    this.state.fill(0);
    this.#windows.reset();
  }

  close(): void {
    this.#closed = true;
    this.#waitingEnd = null;
    this.#onWindow = null;
  }

  #take(endSample: number): void {
    const { window } = this.#windows;
    if (this.#batch === null || !gathers()) {
      this.#onWindow?.(this.#kernel.run(this.state, window), endSample);
      return;
    }
    // Depends on the state after the previous window.
    if (this.waits) this.#batch.finish();
    this.#waitingEnd = endSample;
    this.#batch.add(this, window);
  }
}
