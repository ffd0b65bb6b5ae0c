import { HEARING_RATE_HZ } from '../../audio/frame.js';
import type { EnginePart, EngineRequest, SendReply } from './engine/engine-protocol.js';
import { floats, integers } from './engine/engine-values.js';
import type { SherpaDenoiserEngine } from './sherpa-package.js';

/** Denoising. Each stream has its own small network, because the network is stateful. */
export class NoiseGate implements EnginePart {
  readonly sampleRateHz: number;
  readonly speakers = 0;
  readonly #make: () => SherpaDenoiserEngine;
  readonly #reply: SendReply;
  readonly #streams = new Map<number, SherpaDenoiserEngine>();
  #spare: SherpaDenoiserEngine | null;

  constructor(make: () => SherpaDenoiserEngine, reply: SendReply) {
    this.#make = make;
    this.#reply = reply;
    this.#spare = make();
    this.sampleRateHz = this.#spare.sampleRate;
  }

  take(request: EngineRequest): void {
    if (request.type === 'open') {
      this.#streams.set(request.id, this.#spare ?? this.#make());
      this.#spare = null;
    } else if (request.type === 'close') {
      this.#streams.delete(request.id);
    } else if (request.type === 'audio') {
      const clean = this.#streams
        .get(request.id)
        ?.run({ samples: floats(request.samples), sampleRate: HEARING_RATE_HZ, enableExternalBuffer: false });
      if (clean === undefined || clean.samples.length === 0) return;
      this.#reply({ type: 'audio', id: request.id, samples: integers(clean.samples) });
    }
  }
}
