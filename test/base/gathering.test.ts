import { expect, it } from 'vitest';
import { gather, gathers, gatherTurn, whenGathered } from '../../src/base/gathering.js';

it('runs what has waited behind all of the work, in its order, and once', () => {
  const done: string[] = [];
  const work = (): void => {
    expect(gathers()).toBe(true);
    whenGathered(() => done.push('first', String(gathers())));
    whenGathered(() => done.push('second'));
    done.push('work');
  };
  expect(gathers()).toBe(false);
  gather(work);
  expect(done).toEqual(['work', 'first', 'false', 'second']);
  gather(() => done.push('nothing waits'));
  expect(done).toHaveLength(5);
});

it('is part of the gathering that it is within', () => {
  const done: string[] = [];
  gather(() => {
    gather(() => whenGathered(() => done.push('waited')));
    done.push('outer work');
  });
  expect(done).toEqual(['outer work', 'waited']);
});

it('loses nothing that waits where the work fails', () => {
  const done: string[] = [];
  const work = (): void => {
    whenGathered(() => done.push('waited'));
    throw new Error('of the work');
  };
  expect(() => gather(work)).toThrow('of the work');
  expect(done).toEqual(['waited']);
  expect(gathers()).toBe(false);
});

it('lasts for a turn of the event loop, for work that comes piece by piece', async () => {
  const done: string[] = [];
  const piece = (name: string) => (): void => {
    gatherTurn();
    gather(() => whenGathered(() => done.push(name)));
    done.push(`work ${name}`);
  };
  piece('a')();
  queueMicrotask(piece('b'));
  process.nextTick(piece('c'));
  await new Promise(setImmediate);
  expect(done).toEqual(['work a', 'work b', 'work c', 'a', 'b', 'c']);
  expect(gathers()).toBe(false);
});
