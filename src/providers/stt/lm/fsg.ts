import type { NgramModel } from './ngram.js';
import type { WordClasses } from './phrase-list.js';

/**
 * A language model as a finite-state grammar, in flat arrays for the decoder. States 0 to n-1 are those of the n-gram;
 * then come the garbage state, the final state, and the states of wide classes.
 */
export interface Grammar {
  readonly stateCount: number;
  readonly start: number;
  readonly final: number;
  /** Labels of the arcs: dictionary entries (`the`, `the(2)`) and the garbage phones. */
  readonly labels: readonly string[];
  /** Three numbers per arc: from, to, index of the label. */
  readonly arcs: Int32Array;
  readonly arcProbabilities: Float64Array;
  /** Epsilon arcs, two numbers each: from, to. A path takes at most one in a row. */
  readonly nullArcs: Int32Array;
  readonly nullProbabilities: Float64Array;
}

export interface GrammarOptions {
  /** Dictionary entries for a word's pronunciations; a word with none is left out. */
  pronunciations(word: string): readonly string[];
  /** Tokens of the model that stand for several equally likely words. */
  classes: WordClasses;
  /** Factor for a word's probability, above 0. Default 1 for all. */
  factorOf?(word: string): number;
  /** One-phone entries that match any speech: they absorb out-of-vocabulary words. */
  garbage: readonly string[];
  /** Probability of each garbage phone, above 0; see gate.ts. */
  garbageProbability: number;
}

/** Classes with at least this many words have their own states. */
const WIDE = 20;

/** Classes whose words have shared states, instead of a copy after each history. */
export function wideTokens(classes: WordClasses): ReadonlySet<string> {
  return new Set([...classes].filter(([, words]) => words.length >= WIDE).map(([token]) => token));
}

/**
 * Compiles the model for a decoder that follows one epsilon arc at a time: chains of back-offs become single arcs, and
 * each state has an arc with its total end probability to the final state. A wide class after a history is an epsilon
 * arc to a state that all histories share: a decoder builds and follows some thirty nodes per word arc.
 */
export function compileGrammar(model: NgramModel, options: GrammarOptions): Grammar {
  const arcs: number[] = [];
  const arcProbabilities: number[] = [];
  const nullArcs: number[] = [];
  const nullProbabilities: number[] = [];
  const labels: string[] = [];
  const labelIndex = new Map<string, number>();
  const garbageState = model.states.length;
  const final = garbageState + 1;

  const entries = new Map(
    model.vocabulary.map((token) => {
      const words = options.classes.get(token) ?? [token];
      const share = 1 / words.length;
      const labelled = words.flatMap((word) => {
        const part = share * (options.factorOf?.(word) ?? 1);
        return options.pronunciations(word).map((label) => ({ label, share: part }));
      });
      return [token, labelled];
    }),
  );
  const addArc = (from: number, to: number, label: string, probability: number): void => {
    let index = labelIndex.get(label);
    if (index === undefined) {
      labelIndex.set(label, (index = labels.length));
      labels.push(label);
    }
    arcs.push(from, to, index);
    arcProbabilities.push(probability);
  };
  const addNull = (from: number, to: number, probability: number): void => {
    nullArcs.push(from, to);
    nullProbabilities.push(probability);
  };

  const wide = wideTokens(options.classes);
  let stateCount = final + 1;
  /** The shared states of each class, by the state after the word. */
  const classStates = new Map<string, Map<number, number>>();
  const classState = (token: string, target: number): number => {
    let states = classStates.get(token);
    if (states === undefined) classStates.set(token, (states = new Map<number, number>()));
    let state = states.get(target);
    if (state === undefined) {
      states.set(target, (state = stateCount++));
      for (const { label, share } of entries.get(token) ?? []) addArc(state, target, label, share);
    }
    return state;
  };
  /** The classes of a state and of its back-off states, except the last, which has all words. */
  const addClasses = (from: number, at: number, weight: number): void => {
    if (at === 0) return;
    for (const [token, arc] of model.states[at]?.arcs ?? []) {
      if (wide.has(token)) addNull(from, classState(token, arc.target), weight * arc.probability);
    }
  };

  for (const [from, state] of model.states.entries()) {
    for (const [token, arc] of state.arcs) {
      if (from !== 0 && wide.has(token)) continue;
      for (const { label, share } of entries.get(token) ?? []) addArc(from, arc.target, label, arc.probability * share);
    }
    addClasses(from, from, 1);
    let weight = 1;
    for (let next = state.backoff; next !== null; next = model.states[next.state]?.backoff ?? null) {
      weight *= next.weight;
      addNull(from, next.state, weight);
      addClasses(from, next.state, weight);
    }
    addNull(from, final, state.endProbability);
  }
  for (const phone of options.garbage) {
    addArc(0, garbageState, phone, options.garbageProbability);
    addArc(garbageState, garbageState, phone, options.garbageProbability);
  }
  addNull(garbageState, 0, 1);
  addNull(garbageState, final, model.states[0]?.endProbability ?? 1);

  return {
    stateCount,
    start: model.start,
    final,
    labels,
    arcs: Int32Array.from(arcs),
    arcProbabilities: Float64Array.from(arcProbabilities),
    nullArcs: Int32Array.from(nullArcs),
    nullProbabilities: Float64Array.from(nullProbabilities),
  };
}
