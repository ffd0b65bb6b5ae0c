import { PcmBytes } from './pcm.js';
import { WavStream } from './wav-stream.js';

const RIFF = 'RIFF';

/** Reads a reply's audio as it comes, cut anywhere: bare little-endian 16-bit mono PCM, or a WAV file of that. */
export class AudioBody {
  readonly #rateHz: number;
  #wav: WavStream | null = null;
  #pcm: PcmBytes | null = null;
  #head = Buffer.alloc(0);

  /**
   * @param contentType as the reply says
   * @param sampleRateHz of bare PCM
   * @throws Error for a reply that is text
   */
  constructor(contentType: string, sampleRateHz: number) {
    if (/json|html|text|xml|mpeg|mp3|ogg|opus/.test(contentType)) throw new Error(`it is ${contentType}`);
    this.#rateHz = sampleRateHz;
  }

  /** Of what was read last. */
  get sampleRateHz(): number {
    return this.#wav === null || this.#wav.sampleRateHz === 0 ? this.#rateHz : this.#wav.sampleRateHz;
  }

  /**
   * @returns the samples that are complete by now; may be none
   * @throws Error where it is a WAV file of another kind
   */
  push(bytes: Buffer): Int16Array {
    if (this.#wav !== null) return this.#wav.push(bytes);
    if (this.#pcm !== null) return this.#pcm.push(bytes);
    this.#head = Buffer.concat([this.#head, bytes]);
    const start = this.#head.toString('latin1', 0, RIFF.length);
    if (start.length < RIFF.length && RIFF.startsWith(start)) return new Int16Array(0);
    const head = this.#head;
    this.#head = Buffer.alloc(0);
    if (start === RIFF) return (this.#wav = new WavStream()).push(head);
    return (this.#pcm = new PcmBytes()).push(head);
  }

  /** @throws Error where it ended within a header */
  end(): void {
    this.#wav?.end();
  }
}
