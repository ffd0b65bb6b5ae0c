import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.js';
import { CallLengths, type QueuePlace, WaitingList } from '../../../src/daemon/queues/waiting-list.js';

const MINUTE_MS = 60_000;
const dueMs = ({ sinceMs, priority }: QueuePlace): number => sinceMs - priority * MINUTE_MS;

describe.each([1, 2, 3, 4, 5])('waiting calls at random, with seed %i', (seed) => {
  it('have their turns by arrival and priority, and none is lost or starves', () => {
    const random = new Random(seed);
    const list = new WaitingList<QueuePlace>();
    const [came, served]: [QueuePlace[], QueuePlace[]] = [[], []];
    let nowMs = 0;
    for (let step = 0; step < 2000; step++) {
      nowMs += random.int(0, 5000);
      const waiting = list.all();
      const chance = random.next();
      if (chance < 0.5) {
        const place = {
          id: String(step),
          queueId: `queue ${String(step % 3)}`,
          sinceMs: nowMs,
          priority: random.int(-5, 5),
        };
        list.add(place);
        came.push(place);
      } else if (chance < 0.9 && waiting[0] !== undefined) {
        const [next] = waiting;
        expect(waiting.filter((other) => dueMs(other) < dueMs(next))).toEqual([]);
        list.remove(next.id);
        served.push(next);
      } else if (waiting.length > 0) {
        const moved = waiting[random.int(0, waiting.length - 1)];
        if (moved !== undefined) list.prioritise(moved, random.int(-5, 5));
      }
      const dues = list.all().map(dueMs);
      expect(dues).toEqual(dues.toSorted((a, b) => a - b));
      // Ten points of priority are at most ten minutes: nobody waits longer than those who come after that.
      const oldest = Math.min(...list.all().map(({ sinceMs }) => sinceMs), nowMs);
      expect(served.slice(-1).every(({ sinceMs }) => sinceMs <= oldest + 10 * MINUTE_MS)).toBe(true);
    }
    expect(new Set([...served, ...list.all()])).toEqual(new Set(came));
  });
});

describe('the order of a queue', () => {
  const place = (id: string, sinceMs: number, priority = 0, queueId = 'desk'): QueuePlace => {
    return { id, queueId, sinceMs, priority };
  };

  it('is that of arrival among equals, and counts places in the own queue', () => {
    const list = new WaitingList<QueuePlace>();
    const calls = [place('a', 1), place('b', 1, 0, 'shop'), place('c', 1), place('d', 2, 1)];
    for (const call of calls) list.add(call);
    expect(list.all().map(({ id }) => id)).toEqual(['d', 'a', 'b', 'c']);
    expect(calls.map((call) => list.positionOf(call))).toEqual([2, 1, 3, 1]);
    expect([list.remove('a'), list.remove('a'), list.find('a')]).toEqual([true, false, null]);
  });
});

describe('an estimate of the wait', () => {
  it('needs three calls, and counts the latest fifty', () => {
    const lengths = new CallLengths();
    lengths.add(60_000);
    lengths.add(120_000);
    expect(lengths.waitMs(1, 1)).toBeNull();
    lengths.add(180_000);
    expect([lengths.waitMs(1, 1), lengths.waitMs(4, 2), lengths.waitMs(1, 0)]).toEqual([120_000, 240_000, null]);
    for (let calls = 0; calls < 50; calls++) lengths.add(10_000);
    expect(lengths.waitMs(1, 1)).toBe(10_000);
  });
});
