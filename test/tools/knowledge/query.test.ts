import { describe, expect, it } from 'vitest';
import { bestSentence } from '../../../src/tools/knowledge/search-tool.js';
import { fuse, textQuery } from '../../../src/tools/knowledge/query.js';
import { spaced, wordsOf } from '../../../src/tools/knowledge/words.js';

function termsOf(question: string, language: string): string {
  return textQuery(question, language)
    .terms.map(({ word, isPrefix }) => `${word}${isPrefix ? '*' : ''}`)
    .join(' ');
}

describe('a spoken question', () => {
  it.each([
    ['en-US', 'Um, can you tell me what the refunds are like?', 'refunds refund*'],
    ['de', 'Wie sind denn die Öffnungszeiten?', 'offnungszeiten offnungszeit*'],
    ['fr', "C'est quoi les horaires d'ouverture ?", 'horaires horair* ouverture ouvertur*'],
    ['es-419', '¿Cuánto cuesta la devolución?', 'cuesta cuest* devolucion devolucion*'],
    ['en', 'the twenty five', 'twenty twent* 20 five five* 5'],
    ['zh', '营业时间', '营业 业时 时间'],
    ['ru', 'Когда работает магазин?', 'работает работает* магазин магазин*'],
  ])('in %s: %s', (language, question, match) => {
    expect(termsOf(question, language)).toBe(match);
  });

  it('of nothing but small words is still one', () => {
    expect(termsOf('what is it', 'en')).toBe('what what* is it');
  });

  it.each(['', '?!', '"', '" OR *'])('that means nothing to the index cannot break it: %s', (question) => {
    for (const { word } of textQuery(question, 'en').terms) expect(word).toMatch(/^\w+$/);
  });

  it('is cut where it goes on for ever', () => {
    expect(textQuery(Array.from({ length: 500 }, (_, n) => `w${String(n)}`).join(' '), 'en').stems).toHaveLength(40);
  });
});

it('sees words where none are written', () => {
  expect(spaced('東京タワー open').split(' ').filter(Boolean)).toEqual(['東京', '京タ', 'タワ', 'ワー', 'open']);
  expect(wordsOf('ร้านอาหารเปิด').length).toBeGreaterThan(1);
  expect(wordsOf('Ça va, Zoë? Ἀθήνα')).toEqual(['ca', 'va', 'zoe', 'αθηνα']);
});

it('puts rankings together without comparing scores', () => {
  expect(
    fuse([
      ['a', 'b', 'c'],
      ['c', 'a', 'd'],
    ]),
  ).toEqual(['a', 'c', 'b', 'd']);
});

describe('the best sentence', () => {
  const passage = (text: string, heading: string | null = null) => ({
    fileId: 'f',
    fileName: 'f',
    page: null,
    heading,
    text,
  });

  it('is the one with most of the question in it', () => {
    const passages = [passage('We sell kettles. The warranty on kettles is three years. Bye.')];
    expect(bestSentence('how long is the warranty on a kettle', 'en', passages)).toBe(
      'The warranty on kettles is three years.',
    );
  });

  it('may have half of the question above it', () => {
    expect(
      bestSentence('when are deliveries on sunday', 'en', [passage('On sundays from ten.', 'Delivery times')]),
    ).toBe('On sundays from ten.');
  });

  it('is none where too little fits', () => {
    expect(
      bestSentence('is there parking for bicycles nearby', 'en', [passage('Parking tickets are sold here.')]),
    ).toBeNull();
  });
});
