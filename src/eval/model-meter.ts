import { type SessionUsage, UsageBook } from '../session/record/usage.js';
import type { SessionReport } from '../session/record/session-report.js';
import type { EvalAgent } from './agent.js';
import type { EvalModels } from './ask-model.js';
import type { ModelUsage } from './result.js';

/** What calls and models cost; null = not known. */
export interface EvalPrices {
  /** Currency, for display. */
  unit: string;
  call(report: SessionReport, agent: EvalAgent): number | null;
  models(used: SessionUsage['llm']): number | null;
}

/** Counts what language models use beside the agent's own. */
export class ModelMeter implements EvalModels {
  readonly clock: EvalModels['clock'];
  readonly #models: EvalModels;
  readonly #book = new UsageBook();
  #wasAsked = false;

  constructor(models: EvalModels) {
    this.#models = models;
    this.clock = models.clock;
  }

  async *complete(request: Parameters<EvalModels['complete']>[0]): ReturnType<EvalModels['complete']> {
    this.#wasAsked = true;
    for await (const piece of this.#models.complete(request)) {
      if (piece.type === 'usage') this.#book.counted({ provider: '', model: request.model }, piece);
      yield piece;
    }
  }

  /** Null = no model was asked. */
  usage(prices: EvalPrices | null): ModelUsage | null {
    if (!this.#wasAsked) return null;
    const { promptTokens, completionTokens } = this.#book.tokens;
    return { promptTokens, completionTokens, costUsd: prices?.models(this.#book.usage(0).llm) ?? null };
  }
}
