import { describe, expect, it } from 'vitest';
import { mcNemar, median, wilson } from '../../src/eval/statistics.js';

describe('statistics', () => {
  // Newcombe (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('the Wilson interval of %i of %i', (successes, count, low, high) => {
    const interval = wilson(successes, count);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it.each([
    [0, 0, 1],
    [1, 0, 1],
    [5, 0, 0.0625],
    [0, 6, 0.03125],
    [10, 2, 0.03857421875],
    [4, 4, 1],
  ])('the exact McNemar test of %i against %i', (first, second, expected) => {
    expect(mcNemar(first, second)).toBeCloseTo(expected, 9);
  });

  it('does not overflow', () => expect(mcNemar(900, 1100)).toBeLessThan(0.001));

  it('finds the median', () => {
    expect([median([]), median([3]), median([4, 1, 3]), median([4, 1, 3, 2])]).toEqual([null, 3, 3, 2.5]);
  });
});
