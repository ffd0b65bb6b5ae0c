import { describe, expect, it } from 'vitest';
import { Lexicon } from '../../../../src/providers/stt/embedded/lexicon.js';

const lexicon = new Lexicon(
  new TextEncoder().encode(
    ';; a comment\nthe DH AH\nthe(2) DH IY\n\na  AH\r\na(2) EY\nétage ei tt aa jj\nlast L AE S T',
  ),
);

describe('a lexicon', () => {
  it.each([
    [
      'the',
      [
        ['the', 'DH AH'],
        ['the(2)', 'DH IY'],
      ],
    ],
    [
      'a',
      [
        ['a', 'AH'],
        ['a(2)', 'EY'],
      ],
    ],
    ['étage', [['étage', 'ei tt aa jj']]],
    ['last', [['last', 'L AE S T']]],
    ['th', []],
    ['thee', []],
    ['', []],
    [';;', []],
  ])('knows how %j is said', (word, entries) => {
    expect(lexicon.pronunciations(word)).toEqual(entries);
  });

  it('may be empty', () => {
    expect(new Lexicon(new Uint8Array(0)).pronunciations('a')).toEqual([]);
  });

  it('finds every one of many words', () => {
    const words = Array.from({ length: 5000 }, (_, i) => `w${i.toString(36)}`);
    const big = new Lexicon(new TextEncoder().encode(words.map((word) => `${word} P ${word}`).join('\n')));
    for (const word of words) expect(big.pronunciations(word)).toEqual([[word, `P ${word}`]]);
  });
});
