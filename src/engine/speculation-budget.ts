import { DEFAULT_CONVERSATION, type SpeculationConfig } from '../agent/flow/conversation-config.js';
import type { EndpointingConfig } from '../agent/flow/turn-taking.js';
import { named } from '../base/named.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import { SCRIPTED_MODEL } from '../settings/models.js';

/** Price of a million tokens. */
export interface TokenPrice {
  prompt: number;
  completion: number;
}

/** What answers that are begun while the user still speaks may cost. */
export interface EarlySpeculation {
  /** Estimated tokens in one turn; 0 = no answer is begun before the user stops speaking. Default 8000. */
  tokensPerTurn?: number;
  /** Money in one turn, in the unit of `prices`; null = no limit. Default null. */
  costPerTurn?: number | null;
  /** By `provider/model`, model or provider. Models without a price are free. Default none. */
  prices?: Readonly<Record<string, TokenPrice>>;
}

/** Most pauses inside turns are over by then, and most models have not answered. Measured in docs/benchmarks.md. */
const EARLY_SILENCE_MS = 600;

/** The core's settings for answers that start before the turn is over. */
export function speculationOf(
  {
    speculation: enabled = true,
    earlySpeculation = {},
    endpointing,
  }: {
    speculation?: boolean;
    earlySpeculation?: EarlySpeculation;
    endpointing?: Partial<Pick<EndpointingConfig, 'minSilenceMs'>>;
  },
  { llm, model }: { llm: Pick<LlmProvider, 'name'>; model: string },
): SpeculationConfig {
  const { speculation: usual } = DEFAULT_CONVERSATION;
  const { tokensPerTurn = usual.tokensPerTurn, costPerTurn = usual.costPerTurn, prices } = earlySpeculation;
  const { prompt, completion } = named(prices, llm.name, model, { prompt: 0, completion: 0 });
  // The scripted model answers at once: guesses would only keep the voice busy.
  const early = enabled && tokensPerTurn > 0 && llm.name !== SCRIPTED_MODEL;
  const earlySilenceMs = endpointing?.minSilenceMs === undefined ? EARLY_SILENCE_MS : 0;
  return {
    enabled,
    early,
    earlySilenceMs,
    tokensPerTurn,
    costPerTurn,
    promptPrice: prompt,
    completionPrice: completion,
  };
}
