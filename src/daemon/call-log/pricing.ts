import { named } from '../../base/named.js';
import type { Prices } from '../../settings/prices.js';
import {
  type CallHistoryItem,
  type CostItem,
  type ModelCostItem,
  modelItem,
} from '../../session/record/call-history.js';
import type { SessionUsage } from '../../session/record/usage.js';

/** The price factor of a custom voice; 1 for any other voice. */
export type MultiplierOf = (provider: string, voiceId: string) => number;

const TOKENS = 1_000_000;
const CHARS = 1_000_000;

/** The usage of a call with its cost by the operator's prices. The line of a phone call is a separate item. */
export function priced(item: CallHistoryItem, prices: Prices, multiplierOf: MultiplierOf): CostItem[] {
  const costs = pricedUsage(item.cost_breakdown, item, prices, multiplierOf);
  const line = lineCost(item, prices);
  return line === null ? costs : [...costs.filter(({ type }) => type !== 'voip'), line];
}

/** Some usage of a call with its cost. */
export function pricedUsage(
  used: readonly CostItem[],
  { agent_config: agent }: Pick<CallHistoryItem, 'agent_config'>,
  prices: Prices,
  multiplierOf: MultiplierOf,
): CostItem[] {
  return used.map((cost): CostItem => {
    switch (cost.type) {
      case 'stt':
        return credited(cost, (cost.seconds / 60) * named<number>(prices.stt, cost.provider, cost.model, 0));
      case 'llm':
        return pricedModel(cost, prices);
      case 'tts': {
        const { voice } = agent;
        const factor = voice == null ? 1 : multiplierOf(cost.provider, voice.voice_id);
        return credited(cost, (cost.chars / CHARS) * named<number>(prices.tts, cost.provider, cost.model, 0) * factor);
      }
      case 'voip':
        return cost;
    }
  });
}

/** The cost of language models by the operator's prices. */
export function modelsCost(used: SessionUsage['llm'], prices: Prices): number {
  return used.reduce((sum, one) => sum + pricedModel(modelItem(one), prices).credit, 0);
}

function pricedModel(cost: ModelCostItem, { llm }: Prices): ModelCostItem {
  const price = named<LlmPrice>(llm, cost.provider, cost.model, FREE);
  return credited(cost, modelCost(cost, price) / TOKENS);
}

type LlmPrice = NonNullable<Prices['llm']>[string];

const FREE: LlmPrice = { prompt: 0, completion: 0 };

/** The cost times one million. Audio tokens have their own price if it is set. */
function modelCost(used: ModelCostItem, price: LlmPrice): number {
  const { prompt, cached = prompt, cacheWrite = prompt, completion, audio = { prompt, cached, completion } } = price;
  const { audio_prompt_tokens: heard = 0, audio_cached_tokens: known = 0, audio_completion_tokens: spoken = 0 } = used;
  const { prompt_tokens: all, cached_tokens: read, cache_write_tokens: written, completion_tokens: said } = used;
  const asked = Math.max(0, all - heard - (read - known) - written) * prompt;
  const text = asked + (read - known) * cached + written * cacheWrite + (said - spoken) * completion;
  const { prompt: fresh, cached: again = fresh } = audio;
  return text + Math.max(0, heard - known) * fresh + known * again + spoken * audio.completion;
}

/** Rounds to millionths of the unit. */
function credited<T extends CostItem>(cost: T, credit: number): T {
  return { ...cost, credit: Math.round(credit * 1e6) / 1e6 };
}

/** The cost in the carrier's record of the call; null = there is none. */
function lineCost({ carrier_call_log: record }: CallHistoryItem, { voip = {} }: Prices): CostItem | null {
  if (record === null) return null;
  const { carrier, direction, to, answeredMs, endedMs } = record;
  if (typeof carrier !== 'string') return null;
  const tariff = Object.hasOwn(voip, carrier) ? (voip[carrier] ?? {}) : {};
  const isTimed = typeof answeredMs === 'number' && typeof endedMs === 'number';
  const seconds = isTimed ? (endedMs - answeredMs) / 1000 : 0;
  const { roundToS = 1 } = tariff;
  const minutes = (Math.ceil(seconds / roundToS) * roundToS) / 60;
  const rates = (direction === 'inbound' ? tariff.inbound : tariff.outbound) ?? {};
  const rate = typeof to === 'string' ? rateOf(rates, to) : 0;
  return credited(
    { type: 'voip', provider: carrier, credit: 0, minutes: Math.round(minutes * 1e4) / 1e4 },
    minutes * rate,
  );
}

/** The price of the longest matching prefix of the number. */
function rateOf(rates: Readonly<Record<string, number>>, number: string): number {
  const fitting = Object.keys(rates).filter((start) => start !== '*' && number.startsWith(start));
  const longest = fitting.sort((a, b) => b.length - a.length)[0] ?? '*';
  return rates[longest] ?? 0;
}
