import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Deadlines } from '../../src/providers/deadlines.js';

function begin() {
  const clock = new VirtualClock();
  const caller = new AbortController();
  const deadlines = new Deadlines(clock, 'slowpoke', caller.signal);
  return { clock, caller, deadlines, reason: () => deadlines.signal.reason as unknown };
}

describe('the deadlines of a request', () => {
  it('abort it with what ran out', async () => {
    const { clock, deadlines, reason } = begin();
    deadlines.within(300);
    await clock.advanceTo(299);
    expect(deadlines.signal.aborted).toBe(false);
    await clock.advanceTo(300);
    expect(reason()).toMatchObject({
      code: 'PROVIDER_TIMEOUT',
      message: expect.stringContaining('slowpoke did not answer within 300 ms') as unknown,
    });
    expect(clock.pending).toBe(0);
  });

  it('follow one another: the next phase takes the place of the one before', async () => {
    const { clock, deadlines, reason } = begin();
    deadlines.within(300);
    await clock.advanceTo(200);
    deadlines.within(500);
    expect(clock.pending).toBe(1);
    await clock.advanceTo(699);
    expect(deadlines.signal.aborted).toBe(false);
    await clock.advanceTo(700);
    expect(reason()).toMatchObject({ message: expect.stringContaining('500 ms') as unknown });
  });

  it('rest while paused', async () => {
    const { clock, deadlines } = begin();
    deadlines.within(300);
    deadlines.pause();
    expect(clock.pending).toBe(0);
    await clock.advanceTo(10_000);
    expect(deadlines.signal.aborted).toBe(false);
    deadlines.within(5);
    await clock.advanceTo(10_005);
    expect(deadlines.signal.aborted).toBe(true);
  });

  it("give way to the caller's own abort, and keep its reason", async () => {
    const { clock, caller, deadlines, reason } = begin();
    deadlines.within(300);
    caller.abort(new Error('barge-in'));
    expect(reason()).toEqual(new Error('barge-in'));
    expect(clock.pending).toBe(0);
    deadlines.within(10);
    await clock.advanceTo(1000);
    expect(reason()).toEqual(new Error('barge-in'));
  });

  it('are over at once for a caller that has gone', () => {
    const clock = new VirtualClock();
    const deadlines = new Deadlines(clock, 'slowpoke', AbortSignal.abort(new Error('too late')));
    deadlines.within(300);
    expect(deadlines.signal.reason).toEqual(new Error('too late'));
    expect(clock.pending).toBe(0);
  });

  it('end once, however often they are asked to, and leave nothing behind', () => {
    const { clock, caller, deadlines, reason } = begin();
    deadlines.within(300);
    deadlines.end();
    deadlines.end();
    expect(reason()).toMatchObject({ name: 'AbortError' });
    expect(clock.pending).toBe(0);
    caller.abort(new Error('late'));
    expect(reason()).toMatchObject({ name: 'AbortError' });
  });
});
