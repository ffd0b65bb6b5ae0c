import { describe, expect, it } from 'vitest';
import { cardinalWords, clockWords, ordinalWords, yearWords } from '../../../../src/providers/stt/lm/text.js';

describe('numbers as words', () => {
  it.each([
    [0, 'zero'],
    [13, 'thirteen'],
    [40, 'forty'],
    [99, 'ninety nine'],
    [100, 'one hundred'],
    [342, 'three hundred and forty two'],
    [12_005, 'twelve thousand five'],
    [999_999, 'nine hundred and ninety nine thousand nine hundred and ninety nine'],
  ])('%i', (value, words) => {
    expect(cardinalWords(value).join(' ')).toBe(words);
  });

  it.each([-1, 1.5, 1_000_000, Number.NaN])('has no words for %d', (value) => {
    expect(() => cardinalWords(value)).toThrow(RangeError);
  });

  it.each([
    [1, 'first'],
    [12, 'twelfth'],
    [20, 'twentieth'],
    [23, 'twenty third'],
    [30, 'thirtieth'],
  ])('rank %i', (value, words) => {
    expect(ordinalWords(value).join(' ')).toBe(words);
  });

  it.each([
    [1900, 'nineteen hundred'],
    [1905, 'nineteen oh five'],
    [2000, 'two thousand'],
    [2026, 'twenty twenty six'],
  ])('year %i', (value, words) => {
    expect(yearWords(value).join(' ')).toBe(words);
  });

  it.each([
    [0, 0, 'twelve'],
    [19, 30, 'seven thirty'],
    [7, 5, 'seven oh five'],
  ])('%i:%i', (hour, minute, words) => {
    expect(clockWords(hour, minute).join(' ')).toBe(words);
  });
});
