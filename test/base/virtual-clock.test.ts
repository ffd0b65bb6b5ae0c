import { describe, expect, it } from 'vitest';
import { delay } from '../../src/base/clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';

describe('a virtual clock that follows another one', () => {
  it('lets time pass at the real rate while remote work is in progress, and jumps again after it', async () => {
    const real = new VirtualClock();
    const clock = new VirtualClock(real);
    await clock.advanceTo(1000);
    const fired: [string, number][] = [];
    clock.schedule(1200, () => fired.push(['due', clock.nowMs()]));
    clock.schedule(60_000, () => fired.push(['late', clock.nowMs()]));
    const done = clock.follow();
    const reply = async (): Promise<void> => {
      await delay(real, 500);
      fired.push(['reply', clock.nowMs()]);
      done();
      done();
    };
    const remote = reply();
    let isOver = false;
    const running = clock.runUntil(() => fired.length === 3).then(() => (isOver = true));
    await real.runUntil(() => isOver);
    await Promise.all([remote, running]);
    expect(fired).toEqual([
      ['due', 1200],
      ['reply', 1500],
      ['late', 60_000],
    ]);
  });

  it('follows until the last of several works is done', () => {
    const real = new VirtualClock();
    const clock = new VirtualClock(real);
    const [first, second] = [clock.follow(), clock.follow()];
    first();
    void real.advanceTo(0);
    expect(clock.nowMs()).toBe(0);
    second();
    expect(clock.canFollow).toBe(true);
    expect(() => new VirtualClock().follow()).toThrow('no real clock');
  });
});
