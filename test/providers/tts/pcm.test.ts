import { expect, it } from 'vitest';
import { PcmBytes } from '../../../src/providers/tts/pcm.js';

it('gives the same samples wherever the bytes are cut', () => {
  const samples = [0, 1, -1, 32_767, -32_768, 12_345, -12_345];
  const bytes = Buffer.from(Int16Array.from(samples).buffer);
  for (let cut = 1; cut <= bytes.length; cut++) {
    const pcm = new PcmBytes();
    const got: number[] = [];
    for (let at = 0; at < bytes.length; at += cut) got.push(...pcm.push(bytes.subarray(at, at + cut)));
    expect(got).toEqual(samples);
  }
});
