import { expect, it } from 'vitest';
import { RoundRobin } from '../../../../src/providers/stt/embedded/scheduler.js';

it('takes one job of each stream in turn, each stream’s in order', async () => {
  const robin = new RoundRobin();
  const done: string[] = [];
  await new Promise<void>((resolve) => {
    for (let i = 0; i < 4; i++) robin.add(1, () => done.push(`a${String(i)}`));
    robin.add(2, () => done.push('b0'));
    robin.add(2, () => done.push('b1'));
    robin.add(3, () => done.push('c0'));
    robin.add(1, resolve);
  });
  expect(done).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3']);
});

it('forgets the jobs of a stream that is dropped and runs again after rest', async () => {
  const robin = new RoundRobin();
  const done: string[] = [];
  robin.add(1, () => done.push('dropped'));
  robin.drop(1);
  await new Promise<void>((resolve) => {
    robin.add(2, resolve);
  });
  await new Promise<void>((resolve) => {
    robin.add(1, resolve);
  });
  expect(done).toEqual([]);
});
