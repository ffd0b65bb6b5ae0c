import type { NgramModel } from './ngram.js';
import type { WordClasses } from './phrase-list.js';

/**
 * A language model as a finite-state grammar, in flat arrays for the decoder. States 0 to n-1 are those of the n-gram;
 * then come those of the answers, the garbage state, the final state, the starts of the answers, and the states of wide
 * classes.
 */
export interface Grammar {
  readonly stateCount: number;
  /** Where a turn begins if nothing definite was asked for. */
  readonly start: number;
  /** The start for each kind of answer, by its name. */
  readonly starts: ReadonlyMap<string, number>;
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
  /** Models of answers, by what the question asks for. Default none. */
  answers?: ReadonlyMap<string, NgramModel>;
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

/** The answers that begin every turn, whatever was asked: greetings, yes and no, thanks, "what?". */
const ANYTHING = 'anything';
/** The share of an expected answer, and of short things that fit any question; the rest is the agent's own model. */
const ANSWER_SHARE = 0.85;
const ANYTHING_SHARE = 0.05;
/** The share of short things where nothing definite was asked for. */
const OPEN_SHARE = 0.25;
/** The weight of going on with any word after words of an answer. */
const LEAVES_ANSWER = 0.02;

/**
 * Compiles the model for a decoder that follows one epsilon arc at a time: chains of back-offs become single arcs, and
 * each state has an arc with its total end probability to the final state. A wide class after a history is an epsilon
 * arc to a state that all histories share: a decoder builds and follows some thirty nodes per word arc.
 *
 * The model of each kind of answer has a start of its own, which also leads to the agent's model.
 */
export function compileGrammar(model: NgramModel, options: GrammarOptions): Grammar {
  const answers = [...(options.answers ?? [])];
  let stateCount = model.states.length;
  const bases = answers.map(([, { states }]) => (stateCount += states.length) - states.length);
  const garbageState = stateCount++;
  const final = stateCount++;
  const starts = new Map(answers.map(([answer]) => [answer, stateCount++]));
  const arcs = new ArcLists();
  const parts = new GrammarParts(arcs, new ClassStates(arcs, stateCount), options, final);

  const agent = parts.add(model, 0, null);
  const added = answers.map(([answer, answerModel], index) => {
    return { answer, part: parts.add(answerModel, bases[index] as number, agent) };
  });
  const anything = added.find(({ answer }) => answer === ANYTHING)?.part;
  for (const { answer, part } of added) {
    const start = starts.get(answer) as number;
    const share = answer === ANYTHING ? OPEN_SHARE : ANSWER_SHARE;
    const others = part === anything || anything === undefined ? 0 : ANYTHING_SHARE;
    parts.enter(start, part, share);
    if (others > 0 && anything !== undefined) parts.enter(start, anything, others);
    parts.enter(start, agent, 1 - share - others);
  }
  for (const phone of options.garbage) {
    arcs.add(0, garbageState, phone, options.garbageProbability);
    arcs.add(garbageState, garbageState, phone, options.garbageProbability);
  }
  arcs.addNull(garbageState, 0, 1);
  arcs.addNull(garbageState, final, model.states[0]?.endProbability ?? 1);
  const start = starts.get(ANYTHING) ?? model.start;
  return { stateCount: parts.stateCount, start, starts, final, ...arcs.packed() };
}

/** A model whose states begin at `base`. */
interface Part {
  readonly model: NgramModel;
  readonly base: number;
  readonly entries: ReadonlyMap<string, readonly Labelled[]>;
}

/** Adds models to a grammar. */
class GrammarParts {
  readonly #arcs: ArcLists;
  readonly #classes: ClassStates;
  readonly #options: GrammarOptions;
  readonly #wide: ReadonlySet<string>;
  readonly #final: number;

  constructor(arcs: ArcLists, classes: ClassStates, options: GrammarOptions, final: number) {
    this.#arcs = arcs;
    this.#classes = classes;
    this.#options = options;
    this.#wide = wideTokens(options.classes);
    this.#final = final;
  }

  get stateCount(): number {
    return this.#classes.stateCount;
  }

  /** @param rest where any word may follow; null = in the part itself */
  add(model: NgramModel, base: number, rest: Part | null): Part {
    const part: Part = { model, base, entries: labelledTokens(model, this.#options) };
    for (const [index, state] of model.states.entries()) {
      const from = base + index;
      for (const [token, arc] of state.arcs) {
        if (index !== 0 && this.#wide.has(token)) continue;
        for (const { label, share } of part.entries.get(token) ?? []) {
          this.#arcs.add(from, base + arc.target, label, arc.probability * share);
        }
      }
      this.#addClasses(from, part, index, 1);
      const weight = this.#backOff(from, part, index, 1);
      if (rest !== null) this.#arcs.addNull(from, rest.base, weight * LEAVES_ANSWER);
      this.#arcs.addNull(from, this.#final, state.endProbability);
    }
    return part;
  }

  /** Arcs from a state outside to the beginning of a part. */
  enter(from: number, part: Part, share: number): void {
    this.#arcs.addNull(from, part.base + part.model.start, share);
    this.#addClasses(from, part, part.model.start, share);
    this.#backOff(from, part, part.model.start, share);
  }

  /** Arcs to the back-off states of a state, and to their classes. Returns the weight of the last one. */
  #backOff(from: number, { model, ...part }: Part, index: number, share: number): number {
    let weight = share;
    for (
      let next = model.states[index]?.backoff ?? null;
      next !== null;
      next = model.states[next.state]?.backoff ?? null
    ) {
      weight *= next.weight;
      this.#arcs.addNull(from, part.base + next.state, weight);
      this.#addClasses(from, { model, ...part }, next.state, weight);
    }
    return weight;
  }

  /** The wide classes of a state, unless it has no history: that state has all words. */
  #addClasses(from: number, { model, base, entries }: Part, index: number, weight: number): void {
    if (index === 0) return;
    for (const [token, arc] of model.states[index]?.arcs ?? []) {
      if (!this.#wide.has(token)) continue;
      const state = this.#classes.stateOf(token, base + arc.target, entries.get(token) ?? []);
      this.#arcs.addNull(from, state, weight * arc.probability);
    }
  }
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

  packed(): Omit<Grammar, 'stateCount' | 'start' | 'starts' | 'final'> {
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
  readonly #states = new Map<string, Map<number, number>>();
  /** The next free number. */
  stateCount: number;

  constructor(arcs: ArcLists, firstState: number) {
    this.#arcs = arcs;
    this.stateCount = firstState;
  }

  stateOf(token: string, target: number, entries: readonly Labelled[]): number {
    const states = this.#states.get(token) ?? new Map<number, number>();
    this.#states.set(token, states);
    const known = states.get(target);
    if (known !== undefined) return known;
    const state = this.stateCount++;
    states.set(target, state);
    for (const { label, share } of entries) this.#arcs.add(state, target, label, share);
    return state;
  }
}
