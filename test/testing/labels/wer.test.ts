import { describe, expect, it } from 'vitest';
import { wordErrorRate, wordErrors } from '../../../src/testing/labels/wer.js';

describe('word errors', () => {
  it.each([
    ['a table for two', 'a table for two', 0],
    ['a table for two', 'table for you', 2],
    ['yes', '', 1],
    ['', 'uh', 1],
    ['', '', 0],
    ['one two three', 'zero one two three four', 2],
  ])('%j heard as %j: %i', (said, heard, errors) => {
    expect(wordErrors(said, heard).errors).toBe(errors);
  });

  it('ignores case and punctuation, keeps apostrophes', () => {
    expect(wordErrors('Yes, that’s right!', "yes that's right")).toEqual({ errors: 0, words: 3 });
  });

  it('weighs long utterances by their words', () => {
    expect(
      wordErrorRate([
        ['a b c d', 'a b c d'],
        ['e', 'f'],
      ]),
    ).toBe(0.2);
    expect(wordErrorRate([])).toBe(0);
  });
});
