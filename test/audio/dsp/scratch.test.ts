import { expect, it } from 'vitest';
import { Scratch } from '../../../src/audio/dsp/scratch.js';

it('gives the beginning of one piece of memory, as long as is asked for', () => {
  const scratch = new Scratch(new Int16Array(4));
  scratch.of(4).set([1, 2, 3, 4]);
  expect([...scratch.of(2)]).toEqual([1, 2]);
  expect(scratch.of(2)).toBe(scratch.of(2));
  expect(scratch.of(0)).toHaveLength(0);
  expect(scratch.of(2).buffer).toBe(scratch.of(3).buffer);
});

it('refuses lengths that it has no room for', () => {
  const scratch = new Scratch(new Uint8Array(4));
  for (const length of [5, -1, Number.NaN]) expect(() => scratch.of(length)).toThrow(RangeError);
});
