/**
 * Reads a WAV file of 16-bit mono PCM from a pipe as it comes. The lengths in the header are not believed: a program
 * that writes to a pipe does not know them.
 *
 * Format: RIFF WAVE as in "Multimedia Programming Interface and Data Specifications 1.0" (IBM and Microsoft, 1991).
 */
const MAX_HEADER_BYTES = 4096;
const PCM = 1;

export class WavStream {
  #header: Buffer | undefined = Buffer.alloc(0);
  #odd = Buffer.alloc(0);
  #rateHz = 0;

  /** 0 until the header has been read. */
  get sampleRateHz(): number {
    return this.#rateHz;
  }

  /**
   * @returns the complete samples so far; may be empty
   * @throws Error if it is not such a WAV file
   */
  push(bytes: Buffer): Int16Array {
    if (this.#header === undefined) return this.#samples(bytes);
    this.#header = Buffer.concat([this.#header, bytes]);
    const start = this.#parse(this.#header);
    if (start === undefined) {
      if (this.#header.length > MAX_HEADER_BYTES) throw new Error('its header has no audio data');
      return new Int16Array(0);
    }
    const data = this.#header.subarray(start);
    this.#header = undefined;
    return this.#samples(data);
  }

  /** @throws Error if the input ended inside the header; no input at all is no audio */
  end(): void {
    if (this.#header !== undefined && this.#header.length > 0) throw new Error('it is not a WAV file');
  }

  /** Offset of the audio; null until it has arrived. */
  #parse(head: Buffer): number | undefined {
    if (head.length < 12) return undefined;
    if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') {
      throw new Error('it is not a WAV file');
    }
    for (let at = 12; at + 8 <= head.length;) {
      const name = head.toString('latin1', at, at + 4);
      const length = head.readUInt32LE(at + 4);
      if (name === 'data') {
        if (this.#rateHz === 0) throw new Error('its format chunk is missing');
        return at + 8;
      }
      if (name === 'fmt ') {
        if (at + 24 > head.length) return undefined;
        const [format, channels, bits] = [
          head.readUInt16LE(at + 8),
          head.readUInt16LE(at + 10),
          head.readUInt16LE(at + 22),
        ];
        if (format !== PCM || channels !== 1 || bits !== 16) throw new Error('it is not 16-bit mono PCM');
        this.#rateHz = head.readUInt32LE(at + 12);
      }
      at += 8 + length + (length % 2);
    }
    return undefined;
  }

  #samples(bytes: Buffer): Int16Array {
    const all = this.#odd.length === 0 ? bytes : Buffer.concat([this.#odd, bytes]);
    const samples = new Int16Array(all.length >> 1);
    for (let i = 0; i < samples.length; i++) samples[i] = all.readInt16LE(2 * i);
    this.#odd = Buffer.from(all.subarray(2 * samples.length));
    return samples;
  }
}
