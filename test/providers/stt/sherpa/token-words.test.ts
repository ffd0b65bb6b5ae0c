import { describe, expect, it } from 'vitest';
import { confidenceOf, readable, wordsOf } from '../../../../src/providers/stt/sherpa.js';

const heard = (
  text: string,
  tokens: string[],
  timesS: number[] = tokens.map((_, at) => at / 10),
  logProbs: number[] = [],
) => wordsOf({ text, tokens, timesS, logProbs });

describe('words', () => {
  it('are put together of SentencePiece’s pieces, with their times', () => {
    const words = heard(' a table for two', [' a', ' ta', 'b', 'le', ' for', ' two'], [0.1, 0.2, 0.3, 0.4, 0.5, 1.5]);
    expect(words.map(({ text, startMs, endMs }) => [text, startMs, Math.round(endMs)])).toEqual([
      ['a', 100, 200],
      ['table', 200, 500],
      // A pause after it is not part of it.
      ['for', 500, 900],
      ['two', 1500, 1660],
    ]);
    expect(words.every(({ confidence }) => confidence === null)).toBe(true);
  });

  it('are as sure as their pieces together', () => {
    const [one, two] = heard('▁ON▁TWO', ['▁O', 'N', '▁TWO'], [0, 0.1, 0.2], [-0.2, -0.4, 0]);
    expect(one?.confidence).toBeCloseTo(Math.exp(-0.3));
    expect(two?.confidence).toBe(1);
    expect(confidenceOf({ text: '', tokens: [], timesS: [], logProbs: [-0.2, -0.4] })).toBeCloseTo(Math.exp(-0.3));
    expect(confidenceOf({ text: '', tokens: [], timesS: [], logProbs: [] })).toBeNull();
  });

  it('are put together of Paraformer’s pieces, and of Chinese characters', () => {
    expect(heard('你好 hello', ['你', '好', 'hel@@', 'lo']).map(({ text }) => text)).toEqual(['你', '好', 'hello']);
  });

  it('are none where the model tells no times, or its text is not that of the pieces', () => {
    expect(heard('one two', ['▁one', '▁two'], [])).toEqual([]);
    expect(heard('one 2', ['▁one', '▁two'])).toEqual([]);
    expect(heard('', [])).toEqual([]);
  });
});

it.each([
  ['ONE TWO', 'one two'],
  [' One Two. ', 'One Two.'],
  ['iPhone', 'iPhone'],
  ['你好', '你好'],
  ['', ''],
])('%j reads %j', (text, shown) => {
  expect(readable(text)).toBe(shown);
});
