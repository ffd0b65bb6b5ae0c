import { expect, it } from 'vitest';
import { abortAfter, closeInTime, raceAbort, untilAborted, waitAtMost, withTimeout } from '../../src/base/deadlines.js';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';

const forever = (): Promise<never> => new Promise(() => undefined);

it('raceAbort has the outcome of the work, or the reason of the signal', async () => {
  const abort = new AbortController();
  await expect(raceAbort(Promise.resolve(7), abort.signal)).resolves.toBe(7);
  await expect(raceAbort(Promise.reject(new Error('broken')), abort.signal)).rejects.toThrow('broken');
  const waiting = raceAbort(forever(), abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(raceAbort(forever(), abort.signal)).rejects.toThrow('enough');
});

it('untilAborted ends a stream that does not react to its signal, and asks it to return', async () => {
  const abort = new AbortController();
  let returned = false;
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => {
      let count = 0;
      return {
        next: () => (count++ === 0 ? Promise.resolve({ done: false, value: 1 }) : forever()),
        return: () => {
          returned = true;
          return forever();
        },
      };
    },
  };
  const pieces = untilAborted(source, abort.signal);
  expect(await pieces.next()).toEqual({ done: false, value: 1 });
  const next = pieces.next();
  abort.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  expect(returned).toBe(true);
});

it('withTimeout aborts its work and rejects when the time is over', async () => {
  const clock = new VirtualClock();
  let given: AbortSignal | null = null;
  const work = withTimeout(clock, 300, (signal) => {
    given = signal;
    return forever();
  });
  const late = expect(work).rejects.toThrow('it took longer than 300 ms');
  await clock.advanceTo(300);
  await late;
  expect(given).toMatchObject({ aborted: true });
  await expect(withTimeout(clock, 300, () => Promise.resolve('done'))).resolves.toBe('done');
});

it('withTimeout rejects with the reason of the outer signal', async () => {
  const outer = new AbortController();
  const work = withTimeout(new VirtualClock(), 300, forever, outer.signal);
  outer.abort(new Error('the session is over'));
  await expect(work).rejects.toThrow('the session is over');
});

it('abortAfter leaves its signal alone once it is cancelled', async () => {
  const clock = new VirtualClock();
  const outer = new AbortController();
  const { signal, cancel } = abortAfter(clock, 2000, outer.signal);
  cancel();
  outer.abort();
  await clock.advanceTo(3000);
  expect(signal.aborted).toBe(false);
});

it('waitAtMost gives undefined for work that takes too long', async () => {
  const clock = new VirtualClock();
  await expect(waitAtMost(clock, 100, Promise.resolve('done'))).resolves.toBe('done');
  await expect(waitAtMost(clock, 100, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  const late = waitAtMost(clock, 100, forever());
  await clock.advanceTo(clock.nowMs() + 100);
  await expect(late).resolves.toBeUndefined();
});

it('closeInTime reports what fails and never throws', async () => {
  const faults: string[] = [];
  const onFault = (reason: string): void => void faults.push(reason);
  await closeInTime(new RealClock(), () => Promise.resolve(), onFault);
  await closeInTime(new RealClock(), () => Promise.reject(new Error('busy')), onFault);
  expect(faults).toEqual(['busy']);
});
