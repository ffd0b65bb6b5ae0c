/** Mean power in a band, frequencies as shares of the sample rate: periodograms of 4096 samples, averaged. */
export function goertzelPower(samples: Float64Array, from: number, to: number): number {
  const size = 4096;
  let power = 0;
  let blocks = 0;
  for (let at = 0; at + size <= samples.length; at += size, blocks++) {
    for (let bin = Math.ceil(from * size); bin < to * size; bin++) {
      const angle = (2 * Math.PI * bin) / size;
      let [before, last] = [0, 0];
      for (let i = 0; i < size; i++) {
        const next = (samples[at + i] ?? 0) + 2 * Math.cos(angle) * last - before;
        before = last;
        last = next;
      }
      power += last * last + before * before - 2 * Math.cos(angle) * last * before;
    }
  }
  return power / blocks;
}
