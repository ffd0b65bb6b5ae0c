import { expect, test } from 'vitest';
import { Liveness } from '../../../src/transports/webrtc/werift-peer.js';

/** Looks once a second, at how much has come by then. */
function firstDeadLook(came: readonly number[], limitMs: number): number | null {
  const liveness = new Liveness(limitMs, 0);
  const at = came.findIndex((count, n) => !liveness.look(count, n * 1_000));
  return at === -1 ? null : at;
}

test('who sends anything at all within the limit is there', () => {
  const everyTenSeconds = Array.from({ length: 100 }, (_, n) => Math.floor(n / 10));
  expect(firstDeadLook(everyTenSeconds, 12_000)).toBeNull();
});

test('who sends nothing for so long is gone', () => {
  const came = [...Array.from({ length: 20 }, (_, n) => n), ...Array<number>(20).fill(19)];
  expect(firstDeadLook(came, 12_000)).toBe(19 + 12);
});

test('a count that begins anew is a sign of life, too', () => {
  const came = Array.from({ length: 60 }, (_, n) => (n % 10 === 9 ? 1 : 7));
  expect(firstDeadLook(came, 12_000)).toBeNull();
});

test('a peer does not count as silent while this thread was blocked', () => {
  const liveness = new Liveness(12_000, 0);
  expect(liveness.look(5, 1_000)).toBe(true);
  expect(liveness.look(5, 60_000)).toBe(true);
  expect(liveness.look(6, 61_000)).toBe(true);
});
