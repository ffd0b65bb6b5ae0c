import { msToSamples } from '../frame.js';

/** Where soft clipping begins: -2 dBFS. Everything below passes unchanged. */
const KNEE = 26_028;
const HEADROOM = 32_767 - KNEE;

/** Sums of the frame being mixed. Shared by the thread, because mixing is synchronous. */
let sums = new Float64Array(960);

/**
 * Bends what exceeds -2 dBFS towards full scale, which it never passes: the curve joins the straight part without a
 * corner (slope 1 at the knee), so that loud sums sound full instead of harsh. Takes any finite number.
 */
export function softClip(value: number): number {
  const size = value < 0 ? -value : value;
  if (size <= KNEE) return value;
  const excess = size - KNEE;
  const bent = KNEE + (HEADROOM * excess) / (HEADROOM + excess);
  return value < 0 ? -bent : bent;
}

/**
 * Fills `out` with the sum of `sources`, each times its gain (default 1), softly clipped. Shorter sources are silent
 * at their end, longer ones are cut. `out` may be one of the sources.
 */
export function mix(out: Int16Array, sources: readonly Int16Array[], gains?: readonly number[]): void {
  const length = out.length;
  if (sums.length < length) sums = new Float64Array(length);
  const total = sums;
  total.fill(0, 0, length);
  for (let s = 0; s < sources.length; s++) {
    const source = sources[s]!;
    const gain = gains?.[s] ?? 1;
    const count = Math.min(length, source.length);
    for (let i = 0; i < count; i++) total[i]! += source[i]! * gain;
  }
  for (let i = 0; i < length; i++) out[i] = Math.round(softClip(total[i]!));
}

/** Length of the cross-fade, or a third of what is shorter than three of them. */
const SEAM_MS = 300;

/**
 * Audio that can be repeated without a click: its end is faded out over its beginning, at constant power, so the loop
 * is that much shorter and its last sample continues in its first.
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
