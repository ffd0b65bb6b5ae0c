import { describe, expect, it } from 'vitest';
import { argumentsMatch, mismatch } from '../../../src/eval/expectations/matchers.js';
import type { ValueMatcher } from '../../../src/eval/suite/expectation-schema.js';

describe('matchers', () => {
  it.each<[ValueMatcher, unknown, boolean]>([
    ['Miller', 'miller', true],
    ['Miller', 'Müller', false],
    [4, '4', true],
    [4, 'four', true],
    ['four', 4, true],
    ['', 4, false],
    [true, 'true', false],
    [null, undefined, true],
    [null, 0, false],
    [{ contains: 'window' }, 'a table by the window, please', true],
    [{ matches: '^2026-' }, '2026-06-20', true],
    [{ matches: '^2026-' }, 20, false],
    [{ one_of: ['19:30', '20:00'] }, '20:00', true],
    [{ min: 2, max: 4 }, 4, true],
    [{ min: 2, max: 4 }, 5, false],
    [{ min: 2 }, 'many', false],
    [{ exists: true }, '', false],
    [{ exists: false }, undefined, true],
    [{ exists: false }, 'x', false],
    [{ equals: { a: [1, 'B'] } }, { a: [1, 'b'] }, true],
    [{ equals: { a: 1 } }, { a: 1, b: 2 }, false],
    [{ contains: 'x' }, undefined, false],
  ])('%j and %j', (matcher, value, expected) => {
    expect(argumentsMatch({ it: matcher }, { it: value })).toBe(expected);
  });

  it('says what does not match', () => {
    expect(mismatch({ party: 4, day: { one_of: ['a', 'b'] } }, { party: 4, day: 'c' })).toBe(
      'day is "c", not one of ["a","b"]',
    );
    expect(mismatch({ constructor: 'x' }, {})).toBe('constructor is missing, not "x"');
  });
});
