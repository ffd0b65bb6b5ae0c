import { describe, expect, it } from 'vitest';
import { type MediaAddress, SourceLock } from '../../../src/transports/rtp/wire.js';

const EXPECTED: MediaAddress = { address: '10.0.0.9', port: 5_000 };
const BEHIND_NAT: MediaAddress = { address: '198.51.100.7', port: 61_000 };
const STRANGER: MediaAddress = { address: '192.0.2.66', port: 6_666 };

const lock = (learnMs = 10_000): SourceLock => new SourceLock({ expected: EXPECTED, learnMs, nowMs: 0 });

/** Packets that are let through, of a row of them. */
function heard(of: SourceLock, from: MediaAddress, count: number, nowMs = 0, first = 100): number {
  let accepted = 0;
  for (let n = 0; n < count; n++) if (of.accepts(from, { ssrc: 1, sequence: (first + n) & 0xffff }, nowMs)) accepted++;
  return accepted;
}

describe('the lock on who is heard', () => {
  it('accepts the negotiated address at once, and then no other', () => {
    const ours = lock();
    expect(heard(ours, EXPECTED, 1)).toBe(1);
    expect(heard(ours, STRANGER, 100)).toBe(0);
    expect(ours.target).toEqual(EXPECTED);
  });

  it('knows a place by what is in it, whatever object tells of it', () => {
    const ours = lock();
    expect(heard(ours, { ...EXPECTED }, 2)).toBe(2);
    const same = { ...EXPECTED };
    expect([same, same, { ...EXPECTED }, STRANGER, { ...STRANGER }, same].map((place) => ours.isTarget(place))).toEqual(
      [true, true, true, false, false, true],
    );
  });

  it('believes another place after a few packets in a row, and sends to it', () => {
    const ours = lock();
    expect(heard(ours, BEHIND_NAT, 10)).toBe(7);
    expect(ours.target).toEqual(BEHIND_NAT);
    expect(heard(ours, STRANGER, 10)).toBe(0);
  });

  it('believes the negotiated place as soon as it is heard, though a stranger was quicker', () => {
    const ours = lock();
    expect(heard(ours, STRANGER, 10)).toBe(7);
    expect(heard(ours, EXPECTED, 10, 60_000)).toBe(10);
    expect(ours.target).toEqual(EXPECTED);
    expect(heard(ours, STRANGER, 10, 60_000)).toBe(0);
  });

  describe('after a renegotiation', () => {
    const MOVED: MediaAddress = { address: '10.0.0.9', port: 5_200 };
    const MOVED_BEHIND_NAT: MediaAddress = { address: '198.51.100.7', port: 61_002 };

    it.each([
      ['where it was negotiated', EXPECTED],
      ['where it was behind a NAT', BEHIND_NAT],
    ])('does not hear what is still under way from %s', (_where, before) => {
      const ours = lock();
      heard(ours, before, 10);
      ours.move(MOVED, 1_000);
      expect(ours.target).toEqual(MOVED);
      expect(heard(ours, before, 50, 1_000, 110)).toBe(0);
      expect(ours.accepts(before, { ssrc: 1, sequence: 161 }, 1_000, true)).toBe(false);
      expect(heard(ours, MOVED, 10, 1_300)).toBe(10);
      expect(heard(ours, before, 10, 9_000)).toBe(0);
    });

    it('learns the place behind a NAT again, and that of one who sends from where it did before', () => {
      const ours = lock();
      heard(ours, BEHIND_NAT, 10);
      ours.move(MOVED, 1_000);
      expect(heard(ours, MOVED_BEHIND_NAT, 10, 1_100)).toBe(7);
      ours.move({ ...MOVED, port: 5_300 }, 2_000);
      expect(heard(ours, MOVED_BEHIND_NAT, 10, 6_999)).toBe(0);
      expect(heard(ours, MOVED_BEHIND_NAT, 10, 7_000, 110)).toBe(7);
    });

    it('hears the same place again at once when the call comes back to it, as behind a hold', () => {
      const ours = lock();
      heard(ours, BEHIND_NAT, 10);
      ours.move(MOVED, 1_000);
      heard(ours, MOVED, 10, 1_100);
      ours.move(EXPECTED, 2_000);
      expect(heard(ours, MOVED, 10, 2_000)).toBe(0);
      expect(heard(ours, BEHIND_NAT, 10, 2_100, 300)).toBe(7);
    });
  });

  it('believes another port of the same host sooner', () => {
    expect(heard(lock(), { ...EXPECTED, port: 5_100 }, 10)).toBe(9);
  });

  it('does not accept other addresses with single packets, or random numbers', () => {
    const ours = lock();
    for (let n = 0; n < 100; n++) {
      expect(ours.accepts({ ...STRANGER, port: n + 1 }, { ssrc: 1, sequence: n }, 0)).toBe(false);
      expect(ours.accepts(STRANGER, { ssrc: 1, sequence: (n * 7_919) & 0xffff }, 0)).toBe(false);
      expect(ours.accepts(STRANGER, { ssrc: n, sequence: n }, 0)).toBe(false);
    }
    expect(ours.isLocked).toBe(false);
    expect(heard(ours, EXPECTED, 1)).toBe(1);
  });

  it('learns for a short time only, which can restart while nothing has arrived', () => {
    const ours = lock();
    expect(heard(ours, BEHIND_NAT, 10, 10_000)).toBe(0);
    ours.extend(20_000);
    expect(heard(ours, BEHIND_NAT, 10, 25_000)).toBe(7);
    expect(heard(lock(0), BEHIND_NAT, 10)).toBe(0);
  });

  it('believes at once whom a key vouches for', () => {
    const ours = lock();
    expect(ours.accepts(BEHIND_NAT, { ssrc: 1, sequence: 1 }, 0, true)).toBe(true);
    expect(ours.isTarget(BEHIND_NAT)).toBe(true);
  });
});
