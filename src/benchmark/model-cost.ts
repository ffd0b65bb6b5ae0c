import type { SessionReport } from '../session/record/session-report.js';

/** What a run asked of the model, and what of it was thrown away because it was not the answer. Tokens are estimated. */
export interface ModelCost {
  /** Requests to doubles; 0 with other models. */
  requests: number;
  wastedPromptTokens: number;
  wastedAnswerTokens: number;
}

/** Characters of an English token, about. */
const CHARS_PER_TOKEN = 4;

export function noModelCost(): ModelCost {
  return { requests: 0, wastedPromptTokens: 0, wastedAnswerTokens: 0 };
}

/**
 * Adds what one session threw away.
 * @param isDouble the model reports no usage of its own: what is reported are second requests that lost
 */
export function addWasted(
  cost: ModelCost,
  { speculation, promptTokens }: Pick<SessionReport, 'speculation' | 'promptTokens'>,
  isDouble: boolean,
): void {
  cost.wastedPromptTokens += speculation.wastedPromptChars / CHARS_PER_TOKEN + (isDouble ? promptTokens : 0);
  cost.wastedAnswerTokens += speculation.wastedModelChars / CHARS_PER_TOKEN;
}

export function sumOfCosts(costs: readonly ModelCost[]): ModelCost {
  const sum = noModelCost();
  for (const cost of costs) {
    sum.requests += cost.requests;
    sum.wastedPromptTokens += cost.wastedPromptTokens;
    sum.wastedAnswerTokens += cost.wastedAnswerTokens;
  }
  return sum;
}
