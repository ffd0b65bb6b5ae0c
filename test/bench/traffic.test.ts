import { describe, expect, it } from 'vitest';
import { blocked, CallLengths, drains, linesFor, meanWait } from '../../bench/lib/traffic.js';
import { Random } from '../../src/base/random.js';

describe('traffic', () => {
  // Published tables of Erlang B (ITU-T, Teletraffic Engineering Handbook).
  it.each([
    [0.01, 4.461, 10],
    [0.01, 84.1, 100],
    [0.001, 3.092, 10],
    [0.05, 15.249, 20],
  ])('%f of calls are refused where %f erlangs meet %i lines', (share, erlangs, lines) => {
    expect(blocked(erlangs, lines)).toBeCloseTo(share, 3);
    expect(linesFor(erlangs - 0.05, share)).toBe(lines);
  });

  it('waits as one server does (M/M/1)', () => {
    expect(meanWait(0.5, 1)).toBeCloseTo(1, 9);
    expect(meanWait(0.8, 1)).toBeCloseTo(4, 9);
  });

  it('makes calls of the length that was asked for; those found in progress are longer', () => {
    const lengths = new CallLengths(new Random(7), 180, 1.2);
    const mean = (of: () => number): number =>
      Array.from({ length: 50_000 }, of).reduce((sum, one) => sum + one) / 50_000;
    expect(mean(() => lengths.next())).toBeCloseTo(180, -1);
    // The mean residual life of renewal theory: E[X²] / 2 E[X].
    const rest = (180 * (1 + 1.2 ** 2)) / 2;
    expect(Math.abs(mean(() => lengths.rest()) - rest) / rest).toBeLessThan(0.05);
  });

  it('drains longer, and cuts off fewer calls, with more time', () => {
    const of = (drainS: number) => drains(new CallLengths(new Random(7), 180, 1.2), 100, drainS, 200);
    expect(of(60).medianS).toBe(60);
    expect(of(60).cut).toBeGreaterThan(of(600).cut);
    expect(of(100_000).cut).toBe(0);
    expect(of(100_000).worstS).toBeGreaterThan(of(100_000).medianS);
  });
});
