import { expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { type EventLoop, NodeLoad } from '../../../src/daemon/operations/node-load.js';

/** An event loop that was busy for as long as the test says, ms. */
function loopOf(figures: { active: number; idle: number }): EventLoop {
  return {
    eventLoopUtilization: (from = { active: 0, idle: 0, utilization: 0 }) => {
      const active = figures.active - from.active;
      const idle = figures.idle - from.idle;
      return { active, idle, utilization: active / (active + idle) };
    },
  };
}

it('is that of the scarcest: sessions, time of the event loop, or time of a thread', async () => {
  const clock = new VirtualClock();
  let [sessions, lateS] = [0, 0];
  const figures = { active: 1, idle: 999 };
  const threads = [loopOf(figures)];
  // The process's own loop is as busy as the test is: it counts beside the others, so these are larger.
  const load = new NodeLoad({
    clock,
    maxSessions: 100,
    sessions: () => sessions,
    lateS: () => lateS,
    threads: () => threads,
  });
  expect(load.value).toBeGreaterThanOrEqual(0.001);
  sessions = 100;
  expect(load.value).toBe(1);
  [sessions, lateS] = [10, 0.25];
  expect(load.value).toBe(1);
  lateS = 0;
  // Within a window all readers see the same share.
  await clock.advanceBy(6_000);
  figures.active += 6_000;
  expect(load.value).toBe(1);
  figures.idle += 60_000;
  expect(load.value).toBe(1);
});
