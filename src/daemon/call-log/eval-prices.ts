import type { EvalPrices } from '../../eval/model-meter.js';
import { callHistoryItem } from '../../session/record/call-history.js';
import type { Prices } from '../../settings/prices.js';
import { modelsCost, type MultiplierOf, priced } from './pricing.js';

/** The operator's prices for test calls; null = there are none. */
export function evalPrices(prices: Prices, multiplierOf: MultiplierOf): EvalPrices | null {
  if (Object.keys(prices).length === 0) return null;
  return {
    unit: prices.unit ?? 'credits',
    call: (report, { agentId, config }) => {
      const item = callHistoryItem(report, {
        agentId,
        agentConfig: config,
        callId: null,
        campaignId: null,
        startUnixMs: 0,
        metadata: {},
        phones: null,
        direction: 'inbound',
        outcome: null,
        recordingUrl: null,
        optOut: false,
      });
      return priced(item, prices, multiplierOf).reduce((sum, { credit }) => sum + credit, 0);
    },
    models: (used) => modelsCost(used, prices),
  };
}
