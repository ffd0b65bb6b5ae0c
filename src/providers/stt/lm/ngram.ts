/**
 * A trigram language model with interpolated absolute discounting (Ney, Essen and Kneser 1994), laid out as states
 * and arcs so that it can be handed to a decoder that knows only finite-state grammars.
 *
 * Each state is a history of up to two words. Its arcs carry the whole probability P(word | history) of the words
 * seen after it; every other word is reached through the back-off, so that
 *
 *     sum over arcs P(w | h)  +  P(end | h)  +  backoff(h) * sum over unseen words P(w | shorter h)  =  1
 */
export interface WeightedSentence {
  readonly words: readonly string[];
  /** Count of the sentence, above 0; may be fractional. */
  readonly weight: number;
}

export interface NgramOptions {
  /** Discount for unseen words, subtracted from each count, between 0 and 1 exclusive. Default 0.5. */
  discount?: number;
  /** Minimum count of every word in the vocabulary, above 0. Default 0.3. */
  floorCount?: number;
  /** Minimum count of a two-word history to get a state: a decoder pays for each state in every frame. Default 1.5. */
  minPairCount?: number;
  /** The same for one-word histories. Default 0.5. */
  minSingleCount?: number;
  /** Tokens that stand for many words. Two-word histories that end in one get no state. */
  wideTokens?: ReadonlySet<string>;
}

export interface NgramArc {
  readonly probability: number;
  /** Index of the next state. */
  readonly target: number;
}

export interface NgramState {
  /** The last words, oldest first: none, one or two. `<s>` is the start of the sentence. */
  readonly history: readonly string[];
  readonly arcs: ReadonlyMap<string, NgramArc>;
  /** P(the sentence ends | history), back-off included. */
  readonly endProbability: number;
  /** Fallback for words without an arc, and its weight. Null for the state without history. */
  readonly backoff: { readonly state: number; readonly weight: number } | null;
}

export interface NgramModel {
  /** State 0 has no history. */
  readonly states: readonly NgramState[];
  /** Index of the sentence's start state. */
  readonly start: number;
  readonly vocabulary: readonly string[];
}

const START = '<s>';
const END = '</s>';
const SEPARATOR = ' ';

interface Counts {
  readonly words: Map<string, number>;
  total: number;
}

/** Trains a model. Includes `extraWords` even if no sentence contains them. Throws on an empty vocabulary. */
export function trainNgram(
  sentences: readonly WeightedSentence[],
  extraWords: Iterable<string> = [],
  options: NgramOptions = {},
): NgramModel {
  const discount = options.discount ?? 0.5;
  const contexts = countContexts(sentences, {
    minSingleCount: options.minSingleCount ?? 0.5,
    minPairCount: options.minPairCount ?? 1.5,
    wideTokens: options.wideTokens ?? new Set(),
  });
  const unigrams = new Map<string, number>([[END, 0]]);
  for (const word of extraWords) unigrams.set(word, 0);
  for (const { words, weight } of sentences) {
    for (const word of words) unigrams.set(word, (unigrams.get(word) ?? 0) + weight);
    unigrams.set(END, (unigrams.get(END) ?? 0) + weight);
  }
  if (unigrams.size < 2) throw new RangeError('A language model needs at least one word');

  // Histories in order of length, so that each one's back-off is already complete.
  const histories = ['', ...[...contexts.keys()].sort((a, b) => lengthOf(a) - lengthOf(b))];
  const index = new Map(histories.map((history, state) => [history, state]));
  const states: NgramState[] = [unigramState(unigrams, options.floorCount ?? 0.3, index)];
  for (const history of histories.slice(1)) {
    states.push(historyState(history, contexts.get(history) as Counts, discount, index, states));
  }
  unigrams.delete(END);
  return { states, start: index.get(START) ?? 0, vocabulary: [...unigrams.keys()] };
}

/** P(word | state), with back-offs. `null` is the end of the sentence. 0 for an unknown word. */
export function probabilityOf(model: NgramModel, state: number, word: string | null): number {
  const { arcs, endProbability, backoff } = model.states[state] as NgramState;
  if (word === null) return endProbability;
  const arc = arcs.get(word);
  if (arc !== undefined) return arc.probability;
  return backoff === null ? 0 : backoff.weight * probabilityOf(model, backoff.state, word);
}

/**
 * Counts the successors of each one- and two-word history. A pair whose second word has only one predecessor adds
 * nothing. Uses word numbers and derives each history from the previous one, to avoid a string for each of some ten
 * thousand words.
 */
function countContexts(
  sentences: readonly WeightedSentence[],
  { minSingleCount, minPairCount, wideTokens }: Required<Omit<NgramOptions, 'discount' | 'floorCount'>>,
): Map<string, Counts> {
  const numbers = new Map<string, number>();
  const singles: Single[] = [];
  const single = (word: string): Single => {
    let number = numbers.get(word);
    if (number === undefined) {
      numbers.set(word, (number = singles.length));
      singles.push({ number, word, counts: newCounts(), after: new Map() });
    }
    return singles[number] as Single;
  };
  const start = single(START);
  for (const { words, weight } of sentences) {
    let last = start;
    let pair: Counts | null = null;
    for (let i = 0; i <= words.length; i++) {
      const word = words[i] ?? END;
      count(last.counts, word, weight);
      if (pair !== null) count(pair, word, weight);
      if (i === words.length) break;
      const next = single(word);
      pair = next.after.get(last.number) ?? null;
      if (pair === null) next.after.set(last.number, (pair = newCounts()));
      last = next;
    }
  }
  const contexts = new Map<string, Counts>();
  for (const { word, counts, after } of singles) {
    if (counts.total >= minSingleCount || word === START) contexts.set(word, counts);
    if (after.size === 1 || wideTokens.has(word)) continue;
    for (const [number, pairs] of after) {
      if (pairs.total >= minPairCount) contexts.set((singles[number] as Single).word + SEPARATOR + word, pairs);
    }
  }
  return contexts;
}

interface Single {
  readonly number: number;
  readonly word: string;
  readonly counts: Counts;
  /** Successors of this word after each preceding word, by its number. */
  readonly after: Map<number, Counts>;
}

function newCounts(): Counts {
  return { words: new Map(), total: 0 };
}

function count(counts: Counts, word: string, weight: number): void {
  counts.words.set(word, (counts.words.get(word) ?? 0) + weight);
  counts.total += weight;
}

function unigramState(counts: Map<string, number>, floorCount: number, index: Map<string, number>): NgramState {
  let total = 0;
  for (const value of counts.values()) total += Math.max(value, floorCount);
  const probability = (word: string): number => Math.max(counts.get(word) ?? 0, floorCount) / total;
  const arcs = new Map<string, NgramArc>();
  for (const word of counts.keys()) {
    if (word !== END) arcs.set(word, { probability: probability(word), target: index.get(word) ?? 0 });
  }
  return { history: [], arcs, endProbability: probability(END), backoff: null };
}

function historyState(
  history: string,
  counts: Counts,
  discount: number,
  index: Map<string, number>,
  states: readonly NgramState[],
): NgramState {
  const words = history.split(SEPARATOR);
  const last = words[words.length - 1] as string;
  const lower = words.length === 2 ? (index.get(last) ?? 0) : 0;
  const lowerModel: NgramModel = { states, start: 0, vocabulary: [] };

  let given = 0;
  for (const value of counts.words.values()) given += discountOf(value, discount);
  const weight = given / counts.total;
  const probability = (word: string): number => {
    const seen = counts.words.get(word) ?? 0;
    const direct = seen === 0 ? 0 : (seen - discountOf(seen, discount)) / counts.total;
    return direct + weight * probabilityOf(lowerModel, lower, word === END ? null : word);
  };

  const arcs = new Map<string, NgramArc>();
  for (const word of counts.words.keys()) {
    if (word === END) continue;
    const target = index.get(last + SEPARATOR + word) ?? index.get(word) ?? 0;
    arcs.set(word, { probability: probability(word), target });
  }
  return { history: words, arcs, endProbability: probability(END), backoff: { state: lower, weight } };
}

/** Small fractional counts, as class expansion produces them, lose half instead of more than they have. */
function discountOf(value: number, discount: number): number {
  return Math.min(discount, value / 2);
}

function lengthOf(history: string): number {
  return history.split(SEPARATOR).length;
}
