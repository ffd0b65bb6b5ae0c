import type { Random } from '../random.js';

/** How long something takes, as those who measured it tell: half of the times are below `p50Ms`, 95 % below `p95Ms`. */
export interface LatencyShape {
  p50Ms: number;
  p95Ms: number;
}

/** The 95th percentile of the standard normal distribution. */
const Z95 = 1.6449;

/**
 * Times of that shape, log-normal between and beyond the two figures: what is known of the latencies of services is
 * their median and a long tail. Each call draws two numbers of `random`.
 */
export function latencies({ p50Ms, p95Ms }: LatencyShape, random: Random): () => number {
  const sigma = p50Ms > 0 ? Math.log(p95Ms / p50Ms) / Z95 : 0;
  return () => p50Ms * Math.exp(sigma * normal(random));
}

/** Box and Muller, 1958. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
