/** The span of pitch periods that are looked for: 200 Hz to 67 Hz. Higher voices are found at a multiple. */
const SHORTEST_MS = 5;
export const LONGEST_PERIOD_MS = 15;
/** The stretch, at the end, that is compared with what lies a period before it. */
const WINDOW_MS = 20;
/** The first pass looks at samples and periods this far apart. */
const COARSE_RATE_HZ = 8_000;

/**
 * The period, in samples, with which the end of `samples` repeats: the lag of the largest normalised correlation, first
 * on a coarse grid, then around its best point. At least 35 ms of audio are needed. For silence or noise it is some
 * period in the span.
 */
export function pitchPeriod(samples: Float64Array, sampleRateHz: number): number {
  const shortest = Math.round((SHORTEST_MS * sampleRateHz) / 1000);
  const longest = Math.round((LONGEST_PERIOD_MS * sampleRateHz) / 1000);
  const stride = Math.max(1, Math.round(sampleRateHz / COARSE_RATE_HZ));
  const from = samples.length - Math.round((WINDOW_MS * sampleRateHz) / 1000);
  const coarse = bestLag(samples, from, shortest, longest, stride);
  if (stride === 1) return coarse;
  return bestLag(samples, from, Math.max(shortest, coarse - stride + 1), Math.min(longest, coarse + stride - 1), 1);
}

function bestLag(samples: Float64Array, from: number, shortest: number, longest: number, stride: number): number {
  let best = shortest;
  let bestScore = -Infinity;
  for (let lag = shortest; lag <= longest; lag += stride) {
    let product = 0;
    let energy = 1;
    for (let i = from; i < samples.length; i += stride) {
      const before = samples[i - lag]!;
      product += samples[i]! * before;
      energy += before * before;
    }
    const score = product / Math.sqrt(energy);
    if (score > bestScore) {
      bestScore = score;
      best = lag;
    }
  }
  return best;
}
