import { decodeG711, encodeG711 } from '../../../audio/codecs/g711.js';
import { PcmReader, pcmBytes } from '../../../transports/pcm.js';

/** Audio of a session: 16-bit PCM at 24 kHz, or G.711 at 8 kHz. */
export type AudioFormat = 'pcm' | 'mulaw' | 'alaw';

export function rateOf(format: AudioFormat): number {
  return format === 'pcm' ? 24_000 : 8_000;
}

/** Reads the audio that a client appends; a piece may end in the middle of a sample. */
export class AudioReader {
  readonly #format: AudioFormat;
  readonly #pcm = new PcmReader();

  constructor(format: AudioFormat) {
    this.#format = format;
  }

  read(bytes: Uint8Array): Int16Array {
    return this.#format === 'pcm' ? this.#pcm.read(bytes) : decodeG711(this.#format, bytes);
  }
}

export function audioBytes(format: AudioFormat, samples: Int16Array): Buffer {
  return format === 'pcm' ? pcmBytes(samples) : Buffer.from(encodeG711(format, samples));
}
