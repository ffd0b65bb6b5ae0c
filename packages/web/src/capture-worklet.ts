import { WorkletResampler } from './resampler.js';
import { type CapturedChunk, CHUNK_SAMPLES, LINE_RATE_HZ } from './worklet-messages.js';

/** Cuts the microphone's audio into 20 ms chunks at the line's rate. */
class CaptureProcessor extends AudioWorkletProcessor {
  readonly #resampler = sampleRate === LINE_RATE_HZ ? null : new WorkletResampler(sampleRate, LINE_RATE_HZ);
  #chunk = new Int16Array(CHUNK_SAMPLES);
  #filled = 0;
  #squares = 0;

  process(inputs: Float32Array[][]): boolean {
    const channel = inputs[0]?.[0];
    if (channel === undefined) return true;
    for (const value of this.#resampler?.process(channel) ?? channel) {
      const sample = Math.max(-1, Math.min(1, value));
      this.#squares += sample * sample;
      this.#chunk[this.#filled++] = Math.round(sample * 32_767);
      if (this.#filled === CHUNK_SAMPLES) this.#send();
    }
    return true;
  }

  #send(): void {
    const message: CapturedChunk = { samples: this.#chunk, level: Math.sqrt(this.#squares / CHUNK_SAMPLES) };
    this.port.postMessage(message, [this.#chunk.buffer]);
    this.#chunk = new Int16Array(CHUNK_SAMPLES);
    this.#filled = 0;
    this.#squares = 0;
  }
}

registerProcessor('parley-capture', CaptureProcessor);
