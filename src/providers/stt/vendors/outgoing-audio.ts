import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { Resampler } from '../../../audio/resample.js';
import { SampleMap } from './sample-map.js';

/** Cuts a session's audio into messages of one length, at the vendor's rate, and remembers what was sent. */
export class OutgoingAudio {
  readonly map = new SampleMap();
  readonly #resampler: Resampler | null;
  readonly #chunkSamples: number;
  readonly #minSamples: number;
  #waiting: Buffer[] = [];
  /** At the vendor's rate. */
  #waitingSamples = 0;
  readonly #rateHz: number;

  constructor(options: { sampleRateHz: number; chunkMs: number; minChunkMs?: number | undefined }) {
    const { sampleRateHz, chunkMs, minChunkMs = 0 } = options;
    this.#rateHz = sampleRateHz;
    this.#resampler = sampleRateHz === HEARING_RATE_HZ ? null : new Resampler(HEARING_RATE_HZ, sampleRateHz);
    this.#chunkSamples = Math.round((chunkMs * sampleRateHz) / 1000);
    this.#minSamples = Math.round((minChunkMs * sampleRateHz) / 1000);
  }

  /** Mono 16 kHz. Returns the messages that are full: 16-bit little-endian samples, the receiver's to keep. */
  push(samples: Int16Array, startSample: number): Buffer[] {
    this.map.sent(startSample, samples.length);
    this.#add(this.#resampler === null ? samples : this.#resampler.process(samples));
    return this.#cut();
  }

  /** What waits for its message to be full, null where that is nothing. */
  flush(): Buffer | null {
    if (this.#waitingSamples === 0) return null;
    const missing = this.#minSamples - this.#waitingSamples;
    if (missing > 0) {
      this.#add(new Int16Array(missing));
      this.map.padded(Math.round((missing * HEARING_RATE_HZ) / this.#rateHz));
    }
    const message = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingSamples = 0;
    return message;
  }

  #add(samples: Int16Array): void {
    // The samples are somebody else's, and change.
    this.#waiting.push(Buffer.from(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)));
    this.#waitingSamples += samples.length;
  }

  #cut(): Buffer[] {
    if (this.#waitingSamples < this.#chunkSamples) return [];
    const all = Buffer.concat(this.#waiting);
    const bytes = this.#chunkSamples * 2;
    const whole = Math.floor(all.length / bytes);
    const rest = all.subarray(whole * bytes);
    this.#waiting = rest.length === 0 ? [] : [rest];
    this.#waitingSamples = rest.length / 2;
    return Array.from({ length: whole }, (_, at) => all.subarray(at * bytes, (at + 1) * bytes));
  }
}
