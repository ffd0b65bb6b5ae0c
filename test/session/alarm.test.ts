import fc from 'fast-check';
import { expect, it } from 'vitest';
import { momentAfter } from '../../src/session/alarm.js';

const ms = (max: number) => fc.double({ min: 0, max, noNaN: true });

it('is not before its time by the clock that it was reckoned on, nor noticeably behind it', () => {
  fc.assert(
    fc.property(ms(1e12), ms(1e7), (startMs, dueMs) => {
      const atMs = momentAfter(startMs, dueMs);
      expect(atMs - startMs).toBeGreaterThanOrEqual(dueMs);
      expect(atMs - (startMs + dueMs)).toBeLessThan(0.001);
    }),
    { examples: [[131_233.06453993305 - 4_000.1, 4_000.1]] },
  );
});
