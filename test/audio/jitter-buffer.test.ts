import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Arrival, JitterBuffer, type MediaPacket } from '../../src/audio/jitter-buffer.js';
import { Random } from '../../src/base/random.js';

const OPUS = { clockRateHz: 48_000 };

/** The packet of a place in the stream, which its payload names. */
function packet(n: number, more: Partial<MediaPacket> = {}): MediaPacket {
  return { sequence: n & 0xffff, timestamp: (n * 960) >>> 0, payload: Uint8Array.of(n & 0xff), ...more };
}

/** Short: the number of a packet, `-n` for one made up with packet n behind it, `x` without, `_` and its ms for silence. */
function reported(arrivals: readonly Arrival[]): (number | string)[] {
  return arrivals.map((arrival) => {
    if (arrival.kind === 'packet') return arrival.payload[0] ?? 0;
    if (arrival.kind === 'silence') return `_${String(arrival.ms)}`;
    return arrival.following === null ? 'x' : `-${String(arrival.following[0])}`;
  });
}

/** A stream of packets 0.. that came in order, 20 ms apart, 30 ms after they were sent. */
function steady(count: number): JitterBuffer {
  const buffer = new JitterBuffer(OPUS);
  for (let n = 0; n < count; n++) expect(reported(buffer.push(packet(n), 30 + n * 20))).toEqual([n]);
  return buffer;
}

describe('a stream in order', () => {
  test('goes through at once, over the wrapping of its numbers', () => {
    const buffer = new JitterBuffer(OPUS);
    for (let n = 65_500; n < 65_600; n++) {
      const late = { timestamp: (0xffff_ff00 + n * 960) >>> 0 };
      expect(reported(buffer.push(packet(n, late), n * 20))).toEqual([n & 0xff]);
      expect(buffer.poll(n * 20 + 10)).toEqual([]);
    }
    expect(buffer.stats).toMatchObject({ received: 100, lost: 0, late: 0, reordered: 0, lagMs: 0, patienceMs: 40 });
    expect(buffer.stats.jitterMs).toBeCloseTo(0);
  });

  test('may come in bursts: nothing waits for a pace', () => {
    const buffer = steady(50);
    for (let n = 50; n < 54; n++) expect(reported(buffer.push(packet(n), 30 + 53 * 20))).toEqual([n]);
    expect(buffer.stats.lost).toBe(0);
  });
});

describe('a packet that others have overtaken', () => {
  test('is waited for, and heard in its place', () => {
    const buffer = steady(10);
    expect(buffer.push(packet(11), 250)).toEqual([]);
    expect(reported(buffer.push(packet(10), 255))).toEqual([10, 11]);
    expect(buffer.stats).toMatchObject({ reordered: 1, lost: 0 });
  });

  test('counts as lost when it is later than most are; the one behind it may hold a copy', () => {
    const buffer = steady(10);
    expect(buffer.push(packet(11), 250)).toEqual([]);
    expect(buffer.poll(269)).toEqual([]);
    expect(reported(buffer.poll(271))).toEqual(['-11', 11]);
    expect(reported(buffer.push(packet(10), 275))).toEqual([]);
    expect(reported(buffer.push(packet(12), 280))).toEqual([12]);
    expect(buffer.stats).toMatchObject({ lost: 1, late: 1, duplicate: 0 });
  });

  test('is waited for longer where packets are often late', () => {
    const random = new Random(3);
    const buffer = new JitterBuffer(OPUS);
    const sent = Array.from({ length: 500 }, (_, n) => ({ n, atMs: n * 20 + random.next() * 100 }));
    const heard: (number | string)[] = [];
    for (const { n, atMs } of sent.sort((a, b) => a.atMs - b.atMs))
      heard.push(...reported(buffer.push(packet(n), atMs)));
    expect(buffer.stats.patienceMs).toBeGreaterThan(80);
    expect(buffer.stats.patienceMs).toBeLessThanOrEqual(110);
    expect(buffer.stats.lost).toBeLessThan(15);
    expect(buffer.stats.jitterMs).toBeGreaterThan(15);
    expect(heard.length).toBeGreaterThan(480);
  });

  test('is distinguished from one that comes twice', () => {
    const buffer = steady(10);
    buffer.push(packet(5), 240);
    buffer.push(packet(12), 241);
    buffer.push(packet(12), 242);
    expect(buffer.stats).toMatchObject({ duplicate: 2, late: 0 });
  });
});

describe('a hole', () => {
  test('of several packets is made up at its edges and silent between', () => {
    const buffer = steady(10);
    const made = [...buffer.push(packet(18), 400), ...buffer.poll(420)];
    expect(reported(made)).toEqual(['x', 'x', 'x', 'x', 'x', '_20', '_20', '-18', 18]);
  });

  test('in numbers alone is no time: the sender went on where it was', () => {
    const buffer = steady(10);
    const made = buffer.push(packet(2_000, { timestamp: 10 * 960 }), 230);
    expect(reported([...made, ...buffer.poll(271)])).toEqual([2_000 & 0xff]);
  });

  test('so far that it is another stream begins anew', () => {
    const buffer = steady(10);
    expect(reported(buffer.push(packet(40_000), 230))).toEqual([40_000 & 0xff]);
    expect(buffer.stats.lost).toBe(0);
  });
});

describe('where nothing comes', () => {
  test('a silent sender is heard as silence, with the time that passes', () => {
    const buffer = steady(10);
    buffer.push(packet(10, { silent: true }), 230);
    let silentMs = 0;
    for (let nowMs = 250; nowMs <= 1_230; nowMs += 20) {
      for (const arrival of buffer.poll(nowMs)) silentMs += arrival.kind === 'silence' ? arrival.ms : Number.NaN;
    }
    expect(silentMs).toBe(940);
    // It speaks again a second later: all its time has been given.
    expect(reported(buffer.push(packet(11, { timestamp: 61 * 960 }), 1_250))).toEqual(['_60', 11]);
    expect(buffer.stats).toMatchObject({ lost: 0, lagMs: 0 });
  });

  test('one that is held up is heard later, after some silence, and can be caught up with', () => {
    const buffer = steady(10);
    let silentMs = 0;
    for (let nowMs = 230; nowMs <= 630; nowMs += 20) {
      for (const arrival of buffer.poll(nowMs)) silentMs += arrival.kind === 'silence' ? arrival.ms : Number.NaN;
    }
    expect(silentMs).toBe(280);
    for (let n = 10; n < 30; n++) expect(reported(buffer.push(packet(n), 632))).toEqual([n]);
    expect(buffer.stats).toMatchObject({ lost: 0, late: 0, lagMs: 280 });
    buffer.skipped(200);
    expect(buffer.stats.lagMs).toBe(80);
    expect(buffer.poll(640)).toEqual([]);
  });

  test('and the first packet has not come, there is nothing', () => {
    expect(new JitterBuffer(OPUS).poll(1e6)).toEqual([]);
  });
});

test('whatever the network does, packets are heard in order, once, and time goes on as it passes', () => {
  const event = fc.record({
    delayMs: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 600 })),
    fate: fc.constantFrom('comes', 'comes', 'comes', 'comes', 'comes', 'lost', 'twice'),
  });
  fc.assert(
    fc.property(
      fc.array(event, { minLength: 20, maxLength: 250 }),
      fc.integer({ min: 0, max: 65_535 }),
      (events, first) => {
        const buffer = new JitterBuffer(OPUS);
        const queue = events
          .flatMap(({ delayMs, fate }, n) => {
            if (fate === 'lost' && n > 0) return [];
            const at = { n, atMs: n * 20 + (n === 0 ? 0 : delayMs) };
            return fate === 'twice' ? [at, { n, atMs: at.atMs + 7 }] : [at];
          })
          .sort((a, b) => a.atMs - b.atMs);
        const heard: number[] = [];
        let timeMs = 0;
        const take = (arrivals: readonly Arrival[]): void => {
          for (const arrival of arrivals) {
            timeMs += arrival.kind === 'packet' ? 20 : arrival.ms;
            if (arrival.kind === 'packet') heard.push(((arrival.payload[0] ?? 0) << 8) | (arrival.payload[1] ?? 0));
          }
        };
        let pollMs = 0;
        for (const { n, atMs } of queue) {
          for (; pollMs < atMs; pollMs += 20) take(buffer.poll(pollMs));
          const payload = Uint8Array.of(n >> 8, n & 0xff);
          take(buffer.push({ sequence: (first + n) & 0xffff, timestamp: (n * 960) >>> 0, payload }, atMs));
          expect(timeMs).toBeLessThan(atMs + 20 + buffer.stats.lagMs + 600);
        }
        for (const endMs = pollMs + 2_000; pollMs < endMs; pollMs += 20) take(buffer.poll(pollMs));
        expect(heard).toEqual([...new Set(heard)].sort((a, b) => a - b));
        const { received, late, duplicate } = buffer.stats;
        expect(heard.length).toBe(received - late - duplicate);
        expect(timeMs).toBeGreaterThan(pollMs - 700);
      },
    ),
    { numRuns: 500, seed: 11 },
  );
});

describe('what is no loss', () => {
  test('keys in the stream have places in it, and no sound', () => {
    const buffer = steady(10);
    const key = { timestamp: 77, payload: new Uint8Array() };
    for (const n of [10, 11, 12]) expect(buffer.push(packet(n, key), 30 + n * 20)).toEqual([]);
    expect(reported(buffer.push(packet(13), 30 + 13 * 20))).toEqual(['_60', 13]);
    expect(buffer.stats).toMatchObject({ received: 14, lost: 0, lagMs: 0 });
    expect(buffer.stats.jitterMs).toBeCloseTo(0);
  });

  test('another source begins anew, wherever its numbers are', () => {
    const buffer = steady(10);
    const other = { sequence: 5, timestamp: 9_000_000 };
    expect(reported(buffer.push(packet(99, { ...other, begins: true }), 300))).toEqual([99]);
    expect(reported(buffer.push(packet(100, { sequence: 6, timestamp: 9_000_960 }), 320))).toEqual([100]);
    expect(buffer.stats).toMatchObject({ received: 12, lost: 0, duplicate: 0 });
  });
});
