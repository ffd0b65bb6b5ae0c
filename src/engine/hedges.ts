import { HedgeBook, HedgedLlm } from '../providers/failover/hedged-llm.js';
import type { LlmProvider } from '../providers/llm/llm.js';

/** Second requests to models that are late, with what all sessions know about their times. */
export class Hedges {
  readonly #percentile: number | undefined;
  readonly #books = new Map<string, HedgeBook>();

  /** @param percentile 1 to 99; undefined = no model is asked twice */
  constructor(percentile: number | undefined) {
    this.#percentile = percentile;
  }

  /** The model of a session. */
  of(llm: LlmProvider, model: string): LlmProvider {
    if (this.#percentile === undefined) return llm;
    const key = `${llm.name} ${model}`;
    const book = this.#books.get(key) ?? new HedgeBook(this.#percentile);
    this.#books.set(key, book);
    return new HedgedLlm(llm, book);
  }
}
