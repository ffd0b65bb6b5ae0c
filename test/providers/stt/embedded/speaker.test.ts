import { expect, it } from 'vitest';
import { afterTurn } from '../../../../src/providers/stt/embedded/decoder.js';

const of = (...values: number[]): Float32Array => Float32Array.from(values);

it('takes the mean of all frames for the next turn', () => {
  const next = afterTurn({ mean: of(4, -1), sum: of(1200, 600), frames: 600 });
  expect(next).toEqual({ mean: of(2, 1), sum: of(1200, 600), frames: 600 });
});

it('lets what is long ago fade', () => {
  const next = afterTurn({ mean: of(4), sum: of(2000), frames: 1000 });
  expect(next).toEqual({ mean: of(2), sum: of(1000), frames: 500 });
});

it('stays as it is where nothing was heard', () => {
  const nothing = { mean: of(4), sum: of(0), frames: 0 };
  expect(afterTurn(nothing)).toEqual(nothing);
});
