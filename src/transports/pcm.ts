/** Assembles signed 16-bit little-endian PCM from chunks that may end in the middle of a sample. */
export class PcmReader {
  /** The first byte of an incomplete sample, or -1. */
  #half = -1;

  /** Returns a copy of the complete samples. */
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

/** Signed 16-bit little-endian PCM, independent of the machine's byte order. */
export function pcmBytes(samples: Int16Array): Buffer {
  const bytes = Buffer.allocUnsafe(samples.length * 2);
  for (let index = 0; index < samples.length; index++) bytes.writeInt16LE(samples[index] as number, index * 2);
  return bytes;
}
