import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { probabilityOf, trainNgram, type NgramModel } from '../../../../src/providers/stt/lm/ngram.js';

const say = (text: string, weight = 1) => ({ words: text.split(' '), weight });

/** Sum of P(w | state) over the whole vocabulary and the sentence's end. */
function mass(model: NgramModel, state: number): number {
  return [...model.vocabulary, null].reduce((sum, word) => sum + probabilityOf(model, state, word), 0);
}

function after(model: NgramModel, ...words: string[]): number {
  return words.reduce((state, word) => model.states[state]?.arcs.get(word)?.target ?? -1, model.start);
}

const MODEL = trainNgram(
  [say('a table for two', 4), say('a table for four', 4), say('a room for two', 2), say('two please', 3)],
  ['pizza'],
);

describe('trigram model', () => {
  it('gives every state a probability of 1 in all', () => {
    for (const state of MODEL.states.keys()) expect(mass(MODEL, state)).toBeCloseTo(1, 10);
  });

  it('does so for any corpus and weights', () => {
    const sentence = fc.record({
      words: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 6 }),
      weight: fc.double({ min: 0.01, max: 20, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(sentence, { minLength: 1, maxLength: 12 }), (sentences) => {
        const model = trainNgram(sentences, ['x']);
        for (const state of model.states.keys()) expect(mass(model, state)).toBeCloseTo(1, 8);
      }),
      { numRuns: 100 },
    );
  });

  it('prefers what it has seen after a history, in proportion', () => {
    const afterTableFor = after(MODEL, 'a', 'table', 'for');
    expect(probabilityOf(MODEL, afterTableFor, 'four')).toBeGreaterThan(0.3);
    expect(probabilityOf(MODEL, afterTableFor, 'four')).toBeGreaterThan(
      probabilityOf(MODEL, after(MODEL, 'a', 'room', 'for'), 'four'),
    );
    expect(probabilityOf(MODEL, afterTableFor, 'two')).toBeGreaterThan(probabilityOf(MODEL, afterTableFor, 'please'));
  });

  it('backs off by the weight of the state to the shorter history', () => {
    const state = after(MODEL, 'a', 'table');
    const { backoff } = MODEL.states[state] ?? {};
    expect(backoff?.weight).toBeGreaterThan(0);
    expect(probabilityOf(MODEL, state, 'pizza')).toBeCloseTo(
      (backoff?.weight ?? 0) * probabilityOf(MODEL, backoff?.state ?? 0, 'pizza'),
      12,
    );
  });

  it('knows extra words at the state without history, and no others', () => {
    expect(probabilityOf(MODEL, 0, 'pizza')).toBeGreaterThan(0);
    expect(probabilityOf(MODEL, MODEL.start, 'unheard-of')).toBe(0);
  });

  it('favours what has more weight', () => {
    const light = trainNgram([say('luigi'), say('mario', 1)]);
    const heavy = trainNgram([say('luigi', 10), say('mario', 1)]);
    expect(probabilityOf(heavy, heavy.start, 'luigi')).toBeGreaterThan(probabilityOf(light, light.start, 'luigi'));
  });

  it('spends no state on a pair whose second word has one predecessor only', () => {
    const model = trainNgram([say('good morning to you', 5)]);
    expect(model.states.filter((state) => state.history.length === 2)).toEqual([]);
  });

  it('spends no state on what was hardly seen', () => {
    const model = trainNgram([say('b c', 0.1), say('a c', 3)]);
    expect(model.states.map((state) => state.history.join(' '))).not.toContain('b');
  });

  it('refuses an empty vocabulary', () => {
    expect(() => trainNgram([])).toThrow(RangeError);
  });
});
