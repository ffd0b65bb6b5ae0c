import { msToSamples } from '../../audio/frame.js';
import { resample } from '../../audio/dsp/resample.js';
import { TICK_MS } from '../../base/ticker.js';
import type { Engine } from '../../engine/engine.js';
import { MemoryTransport, type MemoryTransportOptions } from '../../transports/memory.js';

/**
 * A user on a line in memory who speaks with a voice of the engine, and is silent otherwise: the line gets 20 ms of
 * audio a tick of the engine's clock, as from a telephone.
 */
export class MemoryCaller {
  /** The transport for the session. */
  readonly line: MemoryTransport;
  readonly #engine: Engine;
  readonly #frameSamples: number;
  readonly #hangUp: () => void;
  readonly #speech: { samples: Int16Array; at: number; said: () => void }[] = [];

  constructor(engine: Engine, options: MemoryTransportOptions = {}) {
    this.#engine = engine;
    this.line = new MemoryTransport(options);
    this.#frameSamples = msToSamples(TICK_MS, this.line.inputRateHz);
    this.#hangUp = engine.ticker.subscribe(() => this.#tick());
  }

  /** Says it after what is being said. Resolves when the last sample is on the line, or the user has hung up. */
  async says(text: string, signal: AbortSignal = AbortSignal.timeout(10_000)): Promise<void> {
    const { clock } = this.#engine;
    // Virtual time stands still until the voice has made it.
    const { samples, sampleRateHz } = await clock.settle(this.#engine.speech({ text, signal }), clock.nowMs());
    await this.plays(resample(samples, sampleRateHz, this.line.inputRateHz));
  }

  /** The same with a recording at the rate of the line. */
  plays(samples: Int16Array): Promise<void> {
    return new Promise((said) => this.#speech.push({ samples, at: 0, said }));
  }

  /** May be called twice. */
  hangUp(): void {
    this.#hangUp();
    for (const { said } of this.#speech.splice(0)) said();
    this.line.hangUp();
  }

  #tick(): void {
    const frame = new Int16Array(this.#frameSamples);
    const [speech] = this.#speech;
    if (speech !== undefined) {
      frame.set(speech.samples.subarray(speech.at, speech.at + frame.length));
      speech.at += frame.length;
    }
    this.line.pushAudio(frame);
    if (speech === undefined || speech.at < speech.samples.length) return;
    this.#speech.shift();
    speech.said();
  }
}
