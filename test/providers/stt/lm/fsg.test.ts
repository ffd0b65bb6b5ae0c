import { describe, expect, it } from 'vitest';
import { compileGrammar, type Grammar } from '../../../../src/providers/stt/lm/fsg.js';
import { probabilityOf, trainNgram } from '../../../../src/providers/stt/lm/ngram.js';

const say = (text: string, weight = 1) => ({ words: text.split(' '), weight });
const MODEL = trainNgram(
  [say('book the table on {day}', 3), say('clear the table now', 3), say('the day on {day}', 2)],
  ['pizza', 'zzz'],
);
const DICTIONARY: Readonly<Record<string, readonly string[]>> = { the: ['the', 'the(2)'], zzz: [] };
const GRAMMAR = compileGrammar(MODEL, {
  pronunciations: (word) => DICTIONARY[word] ?? [word],
  classes: new Map([['{day}', ['monday', 'tuesday']]]),
  garbage: ['+g:AA', '+g:B'],
  garbageProbability: 0.1,
});

interface Arc {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly probability: number;
}

function arcsOf(grammar: Grammar): Arc[] {
  return [...grammar.arcProbabilities].map((probability, i) => ({
    from: grammar.arcs[3 * i] ?? -1,
    to: grammar.arcs[3 * i + 1] ?? -1,
    label: grammar.labels[grammar.arcs[3 * i + 2] ?? -1] ?? '?',
    probability,
  }));
}

const SHUNNED = compileGrammar(MODEL, {
  pronunciations: (word) => DICTIONARY[word] ?? [word],
  classes: new Map([['{day}', ['monday', 'tuesday']]]),
  factorOf: (word) => (word === 'the' || word === 'monday' ? 0.1 : 1),
  garbage: ['+g:AA', '+g:B'],
  garbageProbability: 0.1,
});

describe('a word that is not wanted', () => {
  it('is less likely wherever it stands, also within a class; the others are as they were', () => {
    const shunned = arcsOf(SHUNNED);
    expect(shunned).toHaveLength(arcsOf(GRAMMAR).length);
    for (const [index, arc] of arcsOf(GRAMMAR).entries()) {
      const factor = /^(the|the\(2\)|monday)$/.test(arc.label) ? 0.1 : 1;
      expect(shunned[index]?.probability).toBeCloseTo(factor * arc.probability, 12);
    }
  });
});

function nullsOf(grammar: Grammar): Map<string, number> {
  return new Map(
    [...grammar.nullProbabilities].map((probability, i) => [
      `${String(grammar.nullArcs[2 * i])}>${String(grammar.nullArcs[2 * i + 1])}`,
      probability,
    ]),
  );
}

const garbageState = GRAMMAR.final - 1;

describe('grammar of a language model', () => {
  it('has the model’s arcs, one for each pronunciation', () => {
    const arcs = arcsOf(GRAMMAR).filter(({ from }) => from === 0);
    const unigram = probabilityOf(MODEL, 0, 'the');
    expect(arcs.find(({ label }) => label === 'the')?.probability).toBeCloseTo(unigram, 12);
    expect(arcs.find(({ label }) => label === 'the(2)')?.probability).toBeCloseTo(unigram, 12);
  });

  it('shares a class’s probability among its words', () => {
    const token = probabilityOf(MODEL, 0, '{day}');
    for (const day of ['monday', 'tuesday']) {
      const arc = arcsOf(GRAMMAR).find(({ from, label }) => from === 0 && label === day);
      expect(arc?.probability).toBeCloseTo(token / 2, 12);
    }
    expect(GRAMMAR.labels).not.toContain('{day}');
  });

  it('leaves out words without a pronunciation', () => {
    expect(GRAMMAR.labels).toContain('pizza');
    expect(GRAMMAR.labels).not.toContain('zzz');
  });

  it('reaches every shorter history and the end in a single null arc', () => {
    const nulls = nullsOf(GRAMMAR);
    for (const [index, state] of MODEL.states.entries()) {
      expect(nulls.get(`${String(index)}>${String(GRAMMAR.final)}`)).toBeCloseTo(state.endProbability, 12);
      if (state.backoff === null) continue;
      const lower = MODEL.states[state.backoff.state];
      const whole = state.backoff.weight * (lower?.backoff?.weight ?? 1);
      expect(nulls.get(`${String(index)}>0`)).toBeCloseTo(whole, 12);
      expect(nulls.get(`${String(index)}>${String(state.backoff.state)}`)).toBeCloseTo(state.backoff.weight, 12);
    }
    expect(MODEL.states.some(({ history }) => history.length === 2)).toBe(true);
  });

  it('soaks up foreign speech in a loop of one-phone words', () => {
    const loop = arcsOf(GRAMMAR).filter(({ to }) => to === garbageState);
    expect(loop.map(({ from, label }) => `${String(from)} ${label}`).toSorted()).toEqual(
      [`0 +g:AA`, `0 +g:B`, `${String(garbageState)} +g:AA`, `${String(garbageState)} +g:B`].toSorted(),
    );
    expect(nullsOf(GRAMMAR).get(`${String(garbageState)}>0`)).toBe(1);
  });

  it('names only states that exist and probabilities that are some', () => {
    for (const state of [...GRAMMAR.nullArcs, ...arcsOf(GRAMMAR).flatMap(({ from, to }) => [from, to])]) {
      expect(state).toBeGreaterThanOrEqual(0);
      expect(state).toBeLessThan(GRAMMAR.stateCount);
    }
    for (const probability of [...GRAMMAR.arcProbabilities, ...GRAMMAR.nullProbabilities]) {
      expect(probability).toBeGreaterThan(0);
      expect(probability).toBeLessThanOrEqual(1);
    }
  });
});

describe('a wide class', () => {
  const names = Array.from({ length: 20 }, (_, i) => `name${String(i)}`);
  const model = trainNgram([say('it is {name} please', 3), say('call {name} now', 3), say('is it {name} now', 2)], [], {
    wideTokens: new Set(['{name}']),
  });
  const grammar = compileGrammar(model, {
    pronunciations: (word) => [word],
    classes: new Map([['{name}', names]]),
    garbage: ['+g:AA'],
    garbageProbability: 0.1,
  });

  it('is laid out once for all the histories that it follows, and once without any', () => {
    const arcs = arcsOf(grammar).filter(({ label }) => label === 'name7');
    expect(arcs.map(({ from }) => from)).toEqual([0, grammar.final + 1]);
    expect(arcs[0]?.to).toBe(arcs[1]?.to);
    expect(arcs[1]?.probability).toBeCloseTo(1 / 20, 12);
    expect(grammar.stateCount).toBe(grammar.final + 2);
  });

  it('is reached with the model’s probability, from back-offs too, in one step that consumes nothing', () => {
    const shared = String(grammar.final + 1);
    const nulls = nullsOf(grammar);
    for (const [from, state] of model.states.entries()) {
      const own = state.arcs.get('{name}');
      const backoff = state.backoff;
      if (from === 0 || backoff === null) continue;
      const lower = backoff.state === 0 ? undefined : model.states[backoff.state]?.arcs.get('{name}');
      const expected = own?.probability ?? (lower === undefined ? undefined : backoff.weight * lower.probability);
      const found = nulls.get(`${String(from)}>${shared}`);
      if (expected === undefined) expect(found).toBeUndefined();
      else expect(found).toBeGreaterThan(0);
      if (own === undefined && expected !== undefined) expect(found).toBeCloseTo(expected, 12);
    }
    expect(model.states.some(({ history }) => history.length === 2 && history[1] === '{name}')).toBe(false);
  });
});

describe('answers', () => {
  const answer = trainNgram([say('{day} please', 3), say('on {day}', 2)]);
  const grammar = compileGrammar(MODEL, {
    pronunciations: (word) => DICTIONARY[word] ?? [word],
    classes: new Map([['{day}', ['monday', 'tuesday']]]),
    answers: new Map([['date', answer]]),
    garbage: ['+g:AA', '+g:B'],
    garbageProbability: 0.1,
  });
  const start = grammar.starts.get('date') ?? -1;
  const base = MODEL.states.length;

  it('have a start of their own, which leads to them and to the agent’s model', () => {
    const targets = [...nullsOf(grammar)].flatMap(([arc, probability]) => {
      const [from, to] = arc.split('>').map(Number);
      return from === start && to !== undefined ? [[to, probability] as const] : [];
    });
    const toAnswer = targets.filter(([to]) => to >= base && to < base + answer.states.length);
    expect(toAnswer.map(([to]) => to)).toContain(base + answer.start);
    expect(targets.map(([to]) => to)).toEqual(expect.arrayContaining([MODEL.start, 0]));
    const weights = new Map(targets);
    expect(weights.get(base + answer.start)).toBeGreaterThan(weights.get(MODEL.start) ?? 1);
  });

  it('leave the agent’s model as it is', () => {
    const own = arcsOf(grammar).filter(({ from, label }) => from < base && !label.startsWith('+g:'));
    expect(own).toEqual(arcsOf(GRAMMAR).filter(({ label }) => !label.startsWith('+g:')));
    expect(grammar.start).toBe(GRAMMAR.start);
  });

  it('may be followed by any word', () => {
    const nulls = nullsOf(grammar);
    for (const state of answer.states.keys()) expect(nulls.get(`${String(base + state)}>0`)).toBeGreaterThan(0);
  });
});
