import type { NgramModel } from './ngram.js';
import type { WordClasses } from './phrase-list.js';

/**
 * A language model as a finite-state grammar, in plain arrays: what a decoder is loaded with. States 0 to n-1 are
 * those of the n-gram; then come the state inside speech that is no word of ours, the final one, and those of wide
 * classes.
 */
export interface Grammar {
  readonly stateCount: number;
  readonly start: number;
  readonly final: number;
  /** Labels of the arcs: dictionary entries (`the`, `the(2)`) and the garbage phones. */
  readonly labels: readonly string[];
  /** Three numbers an arc: from, to, index of the label. */
  readonly arcs: Int32Array;
  readonly arcProbabilities: Float64Array;
  /** Two numbers an arc that consumes nothing: from, to. At most one is ever taken in a row. */
  readonly nullArcs: Int32Array;
  readonly nullProbabilities: Float64Array;
}

export interface GrammarOptions {
  /** Dictionary entries for the pronunciations of a word; a word with none is left out. */
  pronunciations(word: string): readonly string[];
  /** Tokens of the model that stand for several words, each as likely as the others. */
  classes: WordClasses;
  /** What a word's probability is multiplied by wherever it stands, above 0. Default 1 for all. */
  factorOf?(word: string): number;
  /** One-phone entries that together can follow any speech: they soak up what is not in the vocabulary. */
  garbage: readonly string[];
  /** Probability of each garbage phone, above 0; see gate.ts for how it was chosen. */
  garbageProbability: number;
}

/** Classes of at least so many words have states of their own. */
const WIDE = 20;

/** The classes whose words are laid out once for all histories, and not at each history that they follow. */
export function wideTokens(classes: WordClasses): ReadonlySet<string> {
  return new Set([...classes].filter(([, words]) => words.length >= WIDE).map(([token]) => token));
}

/**
 * Lays the model out for a decoder that follows one null arc at a time: back-offs of back-offs become arcs of their
 * own, and each state has an arc of its whole end probability to the final state. A wide class after a history is an
 * arc that consumes nothing to a state with the class's words, which all histories share: a decoder builds and follows
 * some thirty nodes for each arc of a word.
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
  /** The shared states of each class, by the state that its words lead to. */
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
  /** The classes of a state and of those it backs off to, but for the last, which has all words itself. */
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
