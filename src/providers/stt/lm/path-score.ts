import type { Grammar } from './fsg.js';

/** Natural logarithm of the probability of a word that the grammar lacks. */
const UNKNOWN = -12;

interface Arc {
  to: number;
  log: number;
}

/** How probable a grammar finds a sentence that it had no part in: the natural logarithm along its best path. */
export class PathScore {
  readonly #grammar: Grammar;
  /** By state and word, whatever its pronunciation. */
  readonly #arcs = new Map<number, Map<string, Arc[]>>();
  readonly #nulls = new Map<number, Arc[]>();

  constructor(grammar: Grammar) {
    this.#grammar = grammar;
    const { arcs, arcProbabilities, labels, nullArcs, nullProbabilities } = grammar;
    const words = labels.map((label) => label.replace(/\(\d+\)$/, ''));
    for (const [i, probability] of arcProbabilities.entries()) {
      const from = arcs[3 * i] as number;
      const word = words[arcs[3 * i + 2] as number] as string;
      const byWord = this.#arcs.get(from) ?? new Map<string, Arc[]>();
      this.#arcs.set(from, byWord.set(word, [...(byWord.get(word) ?? []), arcTo(arcs[3 * i + 1], probability)]));
    }
    for (const [i, probability] of nullProbabilities.entries()) {
      const from = nullArcs[2 * i] as number;
      this.#nulls.set(from, [...(this.#nulls.get(from) ?? []), arcTo(nullArcs[2 * i + 1], probability)]);
    }
  }

  /**
   * @param start a state of the grammar: `start`, or one of `starts`
   * @returns the logarithm for the words and the end after them
   */
  of(words: readonly string[], start: number): number {
    let paths = new Map([[start, 0]]);
    for (const word of words) {
      const next = new Map<number, number>();
      for (const [state, score] of this.#withNulls(paths)) {
        for (const { to, log } of this.#arcs.get(state)?.get(word) ?? []) better(next, to, score + log);
      }
      if (next.size === 0) next.set(0, Math.max(...paths.values()) + UNKNOWN);
      paths = next;
    }
    return this.#withNulls(paths).get(this.#grammar.final) ?? Math.max(...paths.values()) + UNKNOWN;
  }

  /** The states that one epsilon arc leads to, too. */
  #withNulls(paths: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
    const all = new Map(paths);
    for (const [state, score] of paths) {
      for (const { to, log } of this.#nulls.get(state) ?? []) better(all, to, score + log);
    }
    return all;
  }
}

function arcTo(to: number | undefined, probability: number): Arc {
  return { to: to as number, log: Math.log(probability) };
}

function better(scores: Map<number, number>, state: number, score: number): void {
  if (score > (scores.get(state) ?? Number.NEGATIVE_INFINITY)) scores.set(state, score);
}
