/** Makes samples of little-endian 16-bit PCM that comes cut anywhere, also within a sample. */
export class PcmBytes {
  #odd: number | null = null;

  /** @returns the samples that are complete by now; may be none */
  push(bytes: Uint8Array): Int16Array {
    const lead = this.#odd === null ? 0 : 1;
    const samples = new Int16Array((bytes.length + lead) >> 1);
    const at = (index: number): number => (index < lead ? (this.#odd ?? 0) : (bytes[index - lead] ?? 0));
    for (let i = 0; i < samples.length; i++) samples[i] = at(2 * i) | (at(2 * i + 1) << 8);
    this.#odd = (bytes.length + lead) % 2 === 0 ? null : at(bytes.length + lead - 1);
    return samples;
  }
}
