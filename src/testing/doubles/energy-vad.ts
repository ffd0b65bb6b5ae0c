import { levelOf } from '../../audio/dsp/level.js';
import type { VadDetector, VadProvider } from '../../providers/vad/vad.js';

const WINDOW_SAMPLES = 320;

/** A VAD for tests, without a model: any sound louder than `minDbfs` counts as speech. */
export function energyVad(minDbfs = -45): VadProvider {
  return {
    name: 'energy',
    warmUp: () => Promise.resolve(),
    createDetector: () => new EnergyDetector(minDbfs),
  };
}

class EnergyDetector implements VadDetector {
  readonly windowSamples = WINDOW_SAMPLES;
  readonly #window = new Int16Array(WINDOW_SAMPLES);
  #filled = 0;
  #position = 0;

  constructor(readonly minDbfs: number) {}

  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void {
    for (const sample of samples) {
      this.#window[this.#filled++] = sample;
      this.#position++;
      if (this.#filled < WINDOW_SAMPLES) continue;
      this.#filled = 0;
      onWindow(levelOf(this.#window).rmsDbfs > this.minDbfs ? 1 : 0, this.#position);
    }
  }

  reset(): void {
    this.#filled = 0;
    this.#position = 0;
  }

  close(): void {
    this.reset();
  }
}
