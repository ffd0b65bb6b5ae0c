import { msToSamples } from './frame.js';

/** Length of the cross-fade, or a third of what is shorter than three of them. */
const SEAM_MS = 300;

/**
 * Audio that can be repeated without a click: its end is faded out over its beginning, at constant power, so the loop
 * is that much shorter and its last sample goes on in its first.
 */
export function makeLoop(samples: Int16Array, sampleRateHz: number): Int16Array {
  const seam = Math.min(msToSamples(SEAM_MS, sampleRateHz), Math.floor(samples.length / 3));
  const loop = samples.slice(0, samples.length - seam);
  for (let i = 0; i < seam; i++) {
    const angle = ((i + 0.5) / seam) * (Math.PI / 2);
    const sum = samples[loop.length + i]! * Math.cos(angle) + samples[i]! * Math.sin(angle);
    loop[i] = Math.max(-32_768, Math.min(32_767, Math.round(sum)));
  }
  return loop;
}
