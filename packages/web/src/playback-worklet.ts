import { PlaybackJitterBuffer } from './jitter-buffer.js';
import { WorkletResampler } from './resampler.js';
import { LINE_RATE_HZ, type PlaybackCommand, type PlaybackState } from './worklet-messages.js';

/** Interval of reports to the page. */
const TELL_EVERY_MS = 33;

/** Plays the agent's audio from a jitter buffer, at the audio context's rate. */
class PlaybackProcessor extends AudioWorkletProcessor {
  readonly #buffer = new PlaybackJitterBuffer();
  readonly #resampler = sampleRate === LINE_RATE_HZ ? null : new WorkletResampler(LINE_RATE_HZ, sampleRate);
  readonly #pulled = new Float32Array(128);
  /** Resampled audio that did not fit into the last block. */
  #rest = new Float32Array(0);
  #squares = 0;
  #samples = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<PlaybackCommand>): void => {
      if (data.type === 'audio') this.#buffer.push(data.samples);
      else this.#buffer[data.type]();
    };
  }

  process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const [first, ...others] = outputs[0] ?? [];
    if (first === undefined) return true;
    if (this.#resampler === null) this.#buffer.pull(first);
    else this.#fill(first, this.#resampler);
    for (const channel of others) channel.set(first);
    for (const sample of first) this.#squares += sample * sample;
    this.#samples += first.length;
    if (this.#samples >= (sampleRate * TELL_EVERY_MS) / 1000) this.#tell();
    return true;
  }

  #fill(out: Float32Array, resampler: WorkletResampler): void {
    for (let filled = 0; ;) {
      const part = this.#rest.subarray(0, out.length - filled);
      out.set(part, filled);
      filled += part.length;
      this.#rest = this.#rest.subarray(part.length);
      if (filled === out.length) return;
      this.#buffer.pull(this.#pulled);
      this.#rest = resampler.process(this.#pulled).slice();
    }
  }

  #tell(): void {
    const { playing, held, playedSamples, bufferedMs, targetMs, underruns } = this.#buffer;
    const level = Math.sqrt(this.#squares / this.#samples);
    const state: PlaybackState = { playing, held, level, playedSamples, bufferedMs, targetMs, underruns };
    this.port.postMessage(state);
    this.#squares = 0;
    this.#samples = 0;
  }
}

registerProcessor('parley-playback', PlaybackProcessor);
