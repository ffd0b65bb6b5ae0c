import { describe, expect, it } from 'vitest';
import { corpusOf, disfavoured } from '../../../../src/providers/stt/lm/hints.js';

const hints = (keywords: [string, number][]) => ({ phrases: [], texts: [], keywords: new Map(keywords) });
const LIST = { sentences: [], wordClasses: new Map(), phraseClasses: new Map() } as unknown as Parameters<
  typeof corpusOf
>[1];

describe('keywords', () => {
  it('above 0 count for the words, the more the heavier', () => {
    const { sentences } = corpusOf(
      hints([
        ['Gnocchi', 1],
        ['risotto', 10],
        ['for', -5],
        ['nought', 0],
      ]),
      LIST,
      { sentences: [], words: [] },
      'en',
    );
    expect(sentences).toEqual([
      { words: ['gnocchi'], weight: 2 },
      { words: ['risotto'], weight: 20 },
    ]);
  });

  it('below 0 make words less likely: a tenth for every ten, shared by the words of a phrase', () => {
    const factors = disfavoured(
      hints([
        ['risotto', 10],
        ['for', -10],
        ['good bye', -20],
        ['nought', 0],
      ]),
      'en',
    );
    expect([...factors.keys()]).toEqual(['for', 'good', 'bye']);
    for (const factor of factors.values()) expect(factor).toBeCloseTo(0.1, 12);
  });
});
