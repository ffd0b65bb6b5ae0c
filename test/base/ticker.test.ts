import { describe, expect, it } from 'vitest';
import type { Cancel, Clock } from '../../src/base/clock.js';
import { Ticker, type TickerOptions } from '../../src/base/ticker.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';

/** A ticker, and what its listeners were given: when, and behind how many skipped ticks. */
class Rig {
  readonly clock = new VirtualClock();
  readonly errors: unknown[] = [];
  readonly ticker: Ticker;
  readonly given: [atMs: number, skipped: number][][] = [];
  readonly stops: Cancel[] = [];
  /** Instants at which the ticker woke the process. */
  readonly wakes = new Set<number>();

  constructor(options?: TickerOptions) {
    this.ticker = new Ticker(this.clock, options, (error) => this.errors.push(error));
  }

  listen(count = 1): void {
    for (let n = 0; n < count; n++) {
      const given: [number, number][] = [];
      this.given.push(given);
      this.stops.push(
        this.ticker.subscribe((skipped) => {
          given.push([this.clock.nowMs(), skipped]);
          this.wakes.add(this.clock.nowMs());
        }),
      );
    }
  }

  times(listener: number): number[] {
    return (this.given[listener] ?? []).map(([atMs]) => atMs);
  }

  /** How many listeners from the `first` on have each place in the tick. */
  places(first: number): number[] {
    const counts = new Map<number, number>();
    for (const given of this.given.slice(first)) {
      const place = (given.at(-1)?.[0] ?? 0) % 20;
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    return [...counts.entries()].toSorted(([a], [b]) => a - b).map(([, count]) => count);
  }
}

/** A clock that wakes whoever waits when it is asked to, however early or late that is. */
class UnevenClock implements Clock {
  readonly virtual = false;
  atMs = 0;
  armedMs: number | null = null;
  #fn: () => void = () => undefined;

  nowMs(): number {
    return this.atMs;
  }

  schedule(atMs: number, fn: () => void): Cancel {
    this.armedMs = atMs;
    this.#fn = fn;
    return () => (this.armedMs = null);
  }

  settle<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  wake(atMs: number): void {
    this.atMs = atMs;
    this.armedMs = null;
    this.#fn();
  }
}

describe('the ticker', () => {
  it('gives a few listeners their ticks at one instant, and nobody none', async () => {
    const rig = new Rig();
    await rig.clock.advanceTo(7);
    rig.listen(16);
    await rig.clock.advanceTo(70);
    for (let n = 0; n < 16; n++) expect(rig.times(n)).toEqual([27, 47, 67]);
    for (const stop of rig.stops) stop();
    for (const stop of rig.stops) stop();
    expect(rig.clock.pending).toBe(0);
    rig.listen();
    await rig.clock.advanceTo(95);
    expect(rig.times(16)).toEqual([90]);
  });

  it('spreads many over the tick evenly, each with a cadence of its own that nothing shifts', async () => {
    const rig = new Rig();
    rig.listen(130);
    await rig.clock.advanceTo(100);
    rig.listen(70);
    for (const stop of rig.stops.slice(0, 7)) stop();
    rig.listen(7);
    await rig.clock.advanceTo(200);
    expect(rig.places(7)).toEqual(Array.from({ length: 10 }, () => 20));
    for (let n = 7; n < 207; n++) {
      const times = rig.times(n);
      for (const [index, atMs] of times.entries()) expect(atMs).toBe((times[0] ?? 0) + 20 * index);
      expect(times).toHaveLength(n < 130 ? 10 : 5);
    }
  });

  it('wakes only for phases that somebody has, and fills those with room before it opens another', async () => {
    const rig = new Rig({ listenersPerPhase: 4 });
    rig.listen(12);
    await rig.clock.advanceTo(100);
    expect([...rig.wakes].filter((atMs) => atMs > 80)).toHaveLength(3);
    for (const stop of rig.stops.slice(4)) stop();
    rig.stops[0]?.();
    rig.listen(1);
    rig.wakes.clear();
    await rig.clock.advanceTo(200);
    expect(rig.wakes.size).toBe(5);
    expect(rig.times(12)).toEqual(rig.times(1).slice(-5));
  });

  it('ticks more slowly for those who need no more, and is one for all of them', async () => {
    const rig = new Rig();
    const slow = rig.ticker.every(5);
    expect(rig.ticker.every(5)).toBe(slow);
    expect(rig.ticker.every(2)).not.toBe(slow);
    const given: number[] = [];
    const stop = slow.subscribe(() => given.push(rig.clock.nowMs()));
    await rig.clock.advanceTo(350);
    expect(given).toEqual([100, 200, 300]);
    stop();
    expect(rig.clock.pending).toBe(0);
  });

  it('tells when the tick was due that is being given', async () => {
    const rig = new Rig({ listenersPerPhase: 1, phases: 4 });
    const due: (number | null)[] = [];
    for (let n = 0; n < 4; n++) rig.ticker.subscribe(() => due.push(rig.ticker.dueMs));
    await rig.clock.advanceTo(39);
    expect(due).toEqual([5, 10, 15, 20, 25, 30, 35]);
    expect(rig.ticker.dueMs).toBeNull();
  });

  it('makes up for a few late ticks of each phase in turn, skips the rest, and stays on its grid', () => {
    const clock = new UnevenClock();
    const ticker = new Ticker(clock, { listenersPerPhase: 1, phases: 2, maxCatchUpTicks: 2 });
    const order: string[] = [];
    const reported = (name: string) => (skipped: number) =>
      order.push(`${name} ${String(ticker.dueMs)} ${String(skipped)}`);
    ticker.subscribe(reported('a'));
    ticker.subscribe(reported('b'));
    clock.wake(10);
    clock.wake(20);
    clock.wake(115);
    expect(order).toEqual(['b 10 0', 'a 20 0', 'b 70 2', 'a 60 1', 'a 80 0', 'b 90 0', 'a 100 0', 'b 110 0']);
    expect(clock.armedMs).toBe(120);
    expect(ticker.stats).toEqual({ ticks: 8, late: 4, skipped: 3 });
  });

  it('gives a tick that a timer brings a moment early, and does not drift from it', () => {
    const slow = new UnevenClock();
    const ticker = new Ticker(slow);
    const given: number[] = [];
    ticker.subscribe(() => given.push(slow.atMs));
    for (const atMs of [19.2, 39.9, 59.1]) slow.wake(atMs);
    expect(given).toEqual([19.2, 39.9, 59.1]);
    expect(slow.armedMs).toBe(80);
    slow.wake(78.9);
    expect(given).toHaveLength(3);
    expect(slow.armedMs).toBe(80);
  });

  it('reports a listener that throws, and goes on with the others', async () => {
    const rig = new Rig();
    rig.ticker.subscribe(() => {
      throw new Error('broken');
    });
    rig.listen();
    await rig.clock.advanceTo(20);
    expect(rig.errors).toEqual([new Error('broken')]);
    expect(rig.times(0)).toEqual([20]);
  });

  it('may be left and joined in the middle of a tick', async () => {
    const rig = new Rig({ listenersPerPhase: 1 });
    let joined = 0;
    const stop = rig.ticker.subscribe(() => {
      stop();
      rig.ticker.subscribe(() => joined++);
    });
    await rig.clock.advanceTo(40);
    expect(joined).toBeGreaterThan(0);
    expect(rig.clock.pending).toBe(1);
  });
});
