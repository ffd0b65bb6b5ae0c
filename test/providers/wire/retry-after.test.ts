import { expect, it } from 'vitest';
import { retryAfterMs } from '../../../src/providers/wire/vendor-http.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');

it.each([
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
  [{ 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '-5' }, null],
  [{ 'retry-after': ['1', '2'] }, null],
  [{}, null],
])('%j is %s ms', (headers, ms) => {
  expect(retryAfterMs(headers, NOW)).toBe(ms);
});
