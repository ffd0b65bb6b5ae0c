/**
 * Puts signed 16-bit little-endian PCM together from chunks that may end in the middle of a sample.
 */
export class PcmReader {
  /** The first byte of a sample whose second has not come, or -1. */
  #half = -1;

  /** Samples that are whole by now; a copy of its own. */
  read(chunk: Uint8Array): Int16Array {
    const carried = this.#half >= 0 ? 1 : 0;
    const bytes = chunk.length + carried;
    const samples = new Int16Array(bytes >> 1);
    for (let index = 0; index < samples.length; index++) {
      const at = index * 2 - carried;
      const low = at < 0 ? this.#half : (chunk[at] as number);
      samples[index] = low | ((chunk[at + 1] as number) << 8);
    }
    if (bytes % 2 === 1) this.#half = chunk.length > 0 ? (chunk[chunk.length - 1] as number) : this.#half;
    else this.#half = -1;
    return samples;
  }
}

/** Signed 16-bit little-endian PCM, whatever the machine's own order. */
export function pcmBytes(samples: Int16Array): Buffer {
  const bytes = Buffer.allocUnsafe(samples.length * 2);
  for (let index = 0; index < samples.length; index++) bytes.writeInt16LE(samples[index] as number, index * 2);
  return bytes;
}
