import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pronounceEnglish } from '../../../../src/providers/tts/text/english.js';

describe('English words for a voice that takes ASCII', () => {
  it.each([
    ['Hello,', 'Hello,'],
    ['it’s', "it's"],
    ['“quoted”', '"quoted"'],
    ['café', 'cafe'],
    ['naïve—really', 'naive, really'],
    ['Straße', 'Strasse'],
    ['7:30', '7:30'],
    ['e.g.', 'e.g.'],
    ['10/12/2024', '10 12 2024'],
    ['and/or', 'and or'],
    ['50%', '50%'],
    ['你好', ''],
    ['...', ''],
    ['…', ''],
    ['', ''],
  ])('%j is said %j', (word, expected) => {
    expect(pronounceEnglish(word)).toBe(expected);
  });

  it('gives pieces that each have a letter or digit, in ASCII, whatever the word', () => {
    const odd = fc.constantFrom('&', '@', '.', '$', '€', '5', 'a', '°', '/', '…', '—', "'", 'é', '你', '#', 'K');
    const words = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(odd, { maxLength: 60 }).map((p) => p.join('')),
    );
    fc.assert(
      fc.property(words, (word) => {
        const said = pronounceEnglish(word);
        expect(said).toMatch(/^[\x20-\x7e]*$/);
        for (const piece of said === '' ? [] : said.split(' ')) expect(piece).toMatch(/[A-Za-z0-9]/);
      }),
      { numRuns: 500 },
    );
  });
});
