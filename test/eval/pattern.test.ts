import { describe, expect, it } from 'vitest';
import { plainWords, textTest } from '../../src/eval/pattern.js';
import { InvalidConfigError } from '../../src/schema/issues.js';

describe('patterns', () => {
  it.each([
    ['eight o’clock', "At EIGHT  O'Clock, then.", true],
    ['four', 'fourteen people', false],
    ['R7', 'The reference is R7.', true],
    ['Müller', 'für müller', true],
  ])('words: %s in %s', (pattern, text, expected) => expect(textTest(pattern)(text)).toBe(expected));

  it.each([
    ['/\\bR\\d+\\b/', 'reference r101', true],
    ['/^no/', 'oh no', false],
    ['/a.b/s', 'a\nb', true],
    ['/x/g', 'x', true],
  ])('expression: %s in %s', (pattern, text, expected) => {
    const test = textTest(pattern);
    expect([test(text), test(text)]).toEqual([expected, expected]);
  });

  it('names a broken expression', () => {
    expect(() => textTest('/(/', ['said'])).toThrow(InvalidConfigError);
  });

  it('leaves no punctuation', () => expect(plainWords("  It's 8:30, Zoë! ")).toBe('its 8 30 zoë'));
});
