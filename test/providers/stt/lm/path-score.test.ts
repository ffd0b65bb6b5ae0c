import { describe, expect, it } from 'vitest';
import { compileGrammar } from '../../../../src/providers/stt/lm/fsg.js';
import { trainNgram } from '../../../../src/providers/stt/lm/ngram.js';
import { PathScore } from '../../../../src/providers/stt/lm/path-score.js';

const say = (text: string, weight: number) => ({ words: text.split(' '), weight });
const agent = trainNgram([say('a table for {small}', 6), say('no thanks', 3)], ['soup']);
const grammar = compileGrammar(agent, {
  pronunciations: (word) => (word === 'a' ? ['a', 'a(2)'] : [word]),
  classes: new Map([['{small}', ['two', 'four']]]),
  answers: new Map([['number', trainNgram([say('{small}', 5), say('{small} please', 2)])]]),
  garbage: ['+g:AA'],
  garbageProbability: 0.1,
});
const score = new PathScore(grammar);
const of = (text: string, start = grammar.start): number => score.of(text.split(' '), start);

describe('how probable a grammar finds a sentence', () => {
  it('depends on what it was made from, whatever the pronunciation and the member of a class', () => {
    expect(of('a table for two')).toBeCloseTo(of('a table for four'), 12);
    expect(of('a table for two')).toBeGreaterThan(of('table a two for'));
    expect(of('a table for two')).toBeLessThan(0);
    expect(of('no thanks')).toBeGreaterThan(of('no soup'));
  });

  it('depends on where the sentence ends', () => {
    expect(of('no thanks')).toBeGreaterThan(of('no'));
  });

  it('depends on the question', () => {
    const asked = grammar.starts.get('number') ?? -1;
    expect(of('four', asked)).toBeGreaterThan(of('four') + 1);
    expect(of('no thanks', asked)).toBeLessThan(of('no thanks'));
  });

  it('is low, but finite, with unknown words', () => {
    expect(of('no quarks')).toBeLessThan(of('no soup') - 5);
    expect(of('quarks quarks')).toBeGreaterThan(-60);
    expect(Number.isFinite(score.of([], grammar.start))).toBe(true);
  });
});
