import type { CallLevels } from './line.js';

/** Samples of a measurement: 21 ms at 48 kHz. */
const WINDOW = 1024;

/** Measures the levels of streams that the browser itself sends and plays. */
export class LevelMeter {
  readonly #samples = new Float32Array(WINDOW);
  readonly #ears = new Map<keyof CallLevels, { source: MediaStreamAudioSourceNode; analyser: AnalyserNode }>();
  #context: AudioContext | null = null;

  /** Measures another stream of one side. */
  listen(side: keyof CallLevels, stream: MediaStream): void {
    this.#ears.get(side)?.source.disconnect();
    this.#context ??= new AudioContext();
    void this.#context.resume();
    const analyser = new AnalyserNode(this.#context, { fftSize: WINDOW });
    const source = this.#context.createMediaStreamSource(stream);
    source.connect(analyser);
    this.#ears.set(side, { source, analyser });
  }

  get levels(): CallLevels {
    return { user: this.#levelOf('user'), agent: this.#levelOf('agent') };
  }

  /** May be called twice. */
  close(): void {
    void this.#context?.close();
    this.#context = null;
    this.#ears.clear();
  }

  #levelOf(side: keyof CallLevels): number {
    const ear = this.#ears.get(side);
    if (ear === undefined) return 0;
    ear.analyser.getFloatTimeDomainData(this.#samples);
    return Math.sqrt(this.#samples.reduce((sum, sample) => sum + sample * sample, 0) / WINDOW);
  }
}
