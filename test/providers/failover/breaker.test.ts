import { expect, it } from 'vitest';
import { ParleyError } from '../../../src/base/errors.js';
import {
  allFailed,
  Breaker,
  Health,
  HealthBook,
  inOrder,
  LatencyWindow,
} from '../../../src/providers/failover/health.js';

it('opens after three failures in a row, and tries again once', () => {
  const breaker = new Breaker();
  breaker.failed(0);
  breaker.failed(0);
  breaker.succeeded();
  for (let time = 0; time < 3; time++) {
    expect(breaker.allows(time)).toBe(true);
    breaker.failed(time);
  }
  expect([breaker.allows(2), breaker.allows(10_001), breaker.allows(10_002)]).toEqual([false, false, true]);
  breaker.begin(10_002);
  expect(breaker.allows(10_003)).toBe(false);
  breaker.failed(10_010);
  expect([breaker.allows(30_009), breaker.allows(30_010)]).toEqual([false, true]);
  breaker.begin(30_010);
  breaker.succeeded();
  expect(breaker.isOpen).toBe(false);
});

it('opens at once where trying again cannot help, for five minutes at most', () => {
  const breaker = new Breaker();
  for (let time = 0; time < 12; time++) breaker.failed(0, true);
  expect([breaker.allows(299_999), breaker.allows(300_000)]).toEqual([false, true]);
});

it('learns nothing of a trial that was given up', () => {
  const breaker = new Breaker();
  breaker.failed(0, true);
  breaker.begin(10_000);
  breaker.abandoned();
  expect(breaker.allows(10_000)).toBe(true);
});

it('knows the 99th percentile of the latest times, and a deadline above it', () => {
  const window = new LatencyWindow();
  const bounds = { defaultMs: 3000, minMs: 100, maxMs: 5000 };
  for (let time = 0; time < 9; time++) window.add(200);
  expect([window.p99Ms, window.deadlineMs(bounds)]).toEqual([null, 3000]);
  window.add(800);
  expect([window.p99Ms, window.deadlineMs(bounds)]).toEqual([800, 1000]);
  for (let time = 0; time < 200; time++) window.add(10);
  expect([window.p99Ms, window.deadlineMs(bounds)]).toEqual([10, 100]);
  for (let time = 0; time < 200; time++) window.add(60_000);
  expect(window.deadlineMs(bounds)).toBe(5000);
});

it('puts those that are left alone behind the others', () => {
  const book = new HealthBook();
  const entries = ['a', 'b', 'c'].map((name) => ({ name, health: book.of('stt', name) }));
  entries[0]?.health.failed(0, new ParleyError('PROVIDER_REFUSED', { provider: 'a', reason: 'key' }));
  entries[1]?.health.failed(0, new Error('once'));
  expect(inOrder(entries, 1).map(({ name }) => name)).toEqual(['b', 'c', 'a']);
  expect(inOrder(entries, 20_000).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  expect(book.of('stt', 'a')).toBe(entries[0]?.health);
  expect(book.of('tts', 'a')).not.toBe(entries[0]?.health);
  expect(new Health().breaker.allows(0)).toBe(true);
});

it('makes one error of many, retryable where one is', () => {
  const refused = new ParleyError('PROVIDER_REFUSED', { provider: 'a', reason: 'key' });
  const failed = new ParleyError('PROVIDER_FAILED', { provider: 'b', reason: 'HTTP 503' });
  expect(allFailed([{ name: 'a', error: refused }])).toBe(refused);
  expect(
    allFailed([
      { name: 'a', error: refused },
      { name: 'b', error: failed },
      { name: 'c', error: 'odd' },
    ]),
  ).toMatchObject({
    retryable: true,
    message: 'every provider of the list failed: a refused the request: key; b failed: HTTP 503; c: odd',
  });
  expect(allFailed([refused, refused].map((error) => ({ name: 'a', error })))).toMatchObject({ retryable: false });
});
