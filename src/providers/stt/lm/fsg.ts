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
  const garbageState = model.states.length;
  const final = garbageState + 1;
  const arcs = new ArcLists();
  const entries = labelledTokens(model, options);
  const wide = wideTokens(options.classes);
  const classes = new ClassStates(arcs, entries, final + 1);
  /** The classes of a state and of its back-off states, except the last, which has all words. */
  const addClasses = (from: number, at: number, weight: number): void => {
    if (at === 0) return;
    for (const [token, arc] of model.states[at]?.arcs ?? []) {
      if (wide.has(token)) arcs.addNull(from, classes.stateOf(token, arc.target), weight * arc.probability);
    }
  };

  for (const [from, state] of model.states.entries()) {
    for (const [token, arc] of state.arcs) {
      if (from !== 0 && wide.has(token)) continue;
      for (const { label, share } of entries.get(token) ?? []) {
        arcs.add(from, arc.target, label, arc.probability * share);
      }
    }
    addClasses(from, from, 1);
    let weight = 1;
    for (let next = state.backoff; next !== null; next = model.states[next.state]?.backoff ?? null) {
      weight *= next.weight;
      arcs.addNull(from, next.state, weight);
      addClasses(from, next.state, weight);
    }
    arcs.addNull(from, final, state.endProbability);
  }
  for (const phone of options.garbage) {
    arcs.add(0, garbageState, phone, options.garbageProbability);
    arcs.add(garbageState, garbageState, phone, options.garbageProbability);
  }
  arcs.addNull(garbageState, 0, 1);
  arcs.addNull(garbageState, final, model.states[0]?.endProbability ?? 1);
  return { stateCount: classes.stateCount, start: model.start, final, ...arcs.packed() };
}

/** A pronunciation of a token, and which part of the token's probability it has. */
interface Labelled {
  label: string;
  share: number;
}

function labelledTokens(model: NgramModel, options: GrammarOptions): ReadonlyMap<string, readonly Labelled[]> {
  return new Map(
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
}

/** The arcs of a grammar as they are added. */
class ArcLists {
  readonly #arcs: number[] = [];
  readonly #arcProbabilities: number[] = [];
  readonly #nullArcs: number[] = [];
  readonly #nullProbabilities: number[] = [];
  readonly #labels: string[] = [];
  readonly #labelIndex = new Map<string, number>();

  add(from: number, to: number, label: string, probability: number): void {
    let index = this.#labelIndex.get(label);
    if (index === undefined) {
      index = this.#labels.length;
      this.#labelIndex.set(label, index);
      this.#labels.push(label);
    }
    this.#arcs.push(from, to, index);
    this.#arcProbabilities.push(probability);
  }

  /** An epsilon arc. */
  addNull(from: number, to: number, probability: number): void {
    this.#nullArcs.push(from, to);
    this.#nullProbabilities.push(probability);
  }

  packed(): Omit<Grammar, 'stateCount' | 'start' | 'final'> {
    return {
      labels: this.#labels,
      arcs: Int32Array.from(this.#arcs),
      arcProbabilities: Float64Array.from(this.#arcProbabilities),
      nullArcs: Int32Array.from(this.#nullArcs),
      nullProbabilities: Float64Array.from(this.#nullProbabilities),
    };
  }
}

/** The shared states of each wide class, by the state after the word. */
class ClassStates {
  readonly #arcs: ArcLists;
  readonly #entries: ReadonlyMap<string, readonly Labelled[]>;
  readonly #states = new Map<string, Map<number, number>>();
  /** The next free number. */
  stateCount: number;

  constructor(arcs: ArcLists, entries: ReadonlyMap<string, readonly Labelled[]>, firstState: number) {
    this.#arcs = arcs;
    this.#entries = entries;
    this.stateCount = firstState;
  }

  stateOf(token: string, target: number): number {
    const states = this.#states.get(token) ?? new Map<number, number>();
    this.#states.set(token, states);
    const known = states.get(target);
    if (known !== undefined) return known;
    const state = this.stateCount++;
    states.set(target, state);
    for (const { label, share } of this.#entries.get(token) ?? []) this.#arcs.add(state, target, label, share);
    return state;
  }
}
