import type { CaseResult, EvalMetrics, ModelUsage, SuiteResult } from '../result.js';

/** What calls cost and what models beside the agent use, over many calls. */
export interface SuiteCosts {
  /** Tokens of the agent's language model. */
  tokens: number;
  /** Null = there are no prices. */
  cost: number | null;
  persona: ModelUsage | null;
  judges: ModelUsage | null;
}

/** Over all runs of these cases. */
export function costsOf(cases: readonly CaseResult[]): SuiteCosts {
  const all = cases.flatMap(({ runs }) => runs.map(({ metrics }) => metrics));
  return {
    tokens: all.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0),
    cost: sumOf(all.map(({ costUsd }) => costUsd)),
    persona: usageOf(all, 'persona'),
    judges: usageOf(all, 'judges'),
  };
}

/** Of a suite, with the calls of the agent that it is compared with. */
export function suiteCosts({ cases, comparison }: SuiteResult): SuiteCosts {
  return costsOf([...cases, ...(comparison?.cases ?? []).map(({ other }) => other)]);
}

/** In words, such as `agent 0.042 USD (1,200 tokens)`, `judges 300 tokens`; empty = nothing that counts was used. */
export function costsInWords({ tokens, cost, persona, judges }: SuiteCosts, unit: string | undefined): string[] {
  const parts: [name: string, tokens: number, cost: number | null][] = [];
  if (tokens > 0 || cost !== null) parts.push(['agent', tokens, cost]);
  for (const [name, used] of [['personas', persona] as const, ['judges', judges] as const]) {
    const count = used === null ? 0 : used.promptTokens + used.completionTokens;
    if (used !== null && count > 0) parts.push([name, count, used.costUsd]);
  }
  return parts.map(([name, count, amount]) => {
    const words = `${count.toLocaleString('en')} tokens`;
    if (amount === null) return `${name} ${words}`;
    return `${name} ${money(amount, unit)}${count === 0 ? '' : ` (${words})`}`;
  });
}

/** @param unit the currency; undefined = none is named */
export function money(amount: number, unit: string | undefined): string {
  const digits = amount === 0 ? 0 : Math.max(2, Math.min(6, 1 - Math.floor(Math.log10(amount))));
  return [amount.toFixed(digits), unit ?? ''].join(' ').trim();
}

function usageOf(all: readonly EvalMetrics[], who: 'persona' | 'judges'): ModelUsage | null {
  const used = all.flatMap((metrics) => metrics[who] ?? []);
  if (used.length === 0) return null;
  return {
    promptTokens: used.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    completionTokens: used.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
    costUsd: sumOf(used.map(({ costUsd }) => costUsd)),
  };
}

/** Null = none is known. */
function sumOf(costs: readonly (number | null)[]): number | null {
  const known = costs.filter((cost) => cost !== null);
  return known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0);
}
