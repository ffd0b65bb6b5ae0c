import { expect, test } from 'vitest';
import { ReportedLoss } from '../../../src/transports/rtp/rtcp.js';

/** What is to be expected after these reports. */
function after(shares: readonly number[]): number {
  const loss = new ReportedLoss();
  return shares.reduce((expected, share) => loss.take(share) ?? expected, 0.1);
}

test('loss that is reported is expected within a few reports, within bounds', () => {
  expect(after([0.2, 0.2, 0.2])).toBeCloseTo(0.19, 1);
  expect(after(Array<number>(20).fill(0.9))).toBe(0.3);
});

test('a good line is believed slowly, and never wholly', () => {
  expect(after([0])).toBe(0.1);
  expect(after(Array<number>(3).fill(0))).toBeGreaterThan(0.06);
  expect(after(Array<number>(50).fill(0))).toBeLessThan(0.075);
  expect(after(Array<number>(50).fill(0))).toBeGreaterThanOrEqual(0.05);
});

test('the last report is kept as it was', () => {
  const loss = new ReportedLoss();
  expect(loss.last).toBeNull();
  loss.take(0.25);
  loss.take(0);
  expect(loss.last).toBe(0);
});
