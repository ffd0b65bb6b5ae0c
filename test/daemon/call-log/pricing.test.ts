import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseWith } from '../../../src/schema/issues.js';
import { type Prices, pricesSchema } from '../../../src/settings/prices.js';
import { priced } from '../../../src/daemon/call-log/pricing.js';
import type { CallHistoryItem } from '../../../src/session/record/call-history.js';

const PRICES: Prices = {
  stt: { deepgram: 0.0043, 'deepgram/nova-3': 0.0077 },
  llm: { 'gpt-4o': { prompt: 2.5, completion: 10 }, openai: { prompt: 1, completion: 1 } },
  tts: { elevenlabs: 300 },
  voip: { simulated: { outbound: { '*': 1, '+1': 0.01, '+1900': 5 }, inbound: { '+1': 0.004 }, roundToS: 60 } },
};

function call(change: Partial<CallHistoryItem> = {}): CallHistoryItem {
  const used = [
    { type: 'stt', provider: 'deepgram', credit: 0, model: null, seconds: 90 },
    {
      type: 'llm',
      provider: 'openai',
      credit: 0,
      model: 'gpt-4o',
      prompt_tokens: 10_000,
      completion_tokens: 500,
      cached_tokens: 0,
      cache_write_tokens: 0,
    },
    { type: 'tts', provider: 'elevenlabs', credit: 0, model: null, chars: 1200 },
  ];
  const record = { carrier: 'simulated', direction: 'outbound', to: '+12025550103', answeredMs: 1000, endedMs: 91_000 };
  return { agent_config: {}, cost_breakdown: used, carrier_call_log: record, ...change } as CallHistoryItem;
}

const credits = (item: CallHistoryItem, prices = PRICES, multiplier = 1): Record<string, number> =>
  Object.fromEntries(priced(item, prices, () => multiplier).map(({ type, credit }) => [type, credit]));

describe('what a call costs', () => {
  it('follows from the price of each part and how much was used of it', () => {
    expect(credits(call())).toEqual({ stt: 0.00645, llm: 0.03, tts: 0.36, voip: 0.02 });
    expect(priced(call(), PRICES, () => 1).at(-1)).toMatchObject({ type: 'voip', provider: 'simulated', minutes: 2 });
  });

  it('goes by the most exact name', () => {
    const agent_config = { voice: { provider: 'elevenlabs', voice_id: 'mine' } };
    const [stt, ...others] = call().cost_breakdown;
    const cost_breakdown = [{ ...stt, model: 'nova-3' }, ...others] as CallHistoryItem['cost_breakdown'];
    expect(credits(call({ agent_config, cost_breakdown }), PRICES, 1.5)).toMatchObject({
      stt: 0.01155,
      tts: 0.54,
    });
    const { llm = {} } = PRICES;
    expect(credits(call(), { llm: { openai: llm['openai'] ?? { prompt: 0, completion: 0 } } })['llm']).toBe(0.0105);
  });

  it("takes the cache's prices for what came out of it and went into it, where there are any", () => {
    const [, llm] = call().cost_breakdown;
    const cost_breakdown = [
      { ...llm, cached_tokens: 8000, cache_write_tokens: 1000 },
    ] as CallHistoryItem['cost_breakdown'];
    const item = call({ cost_breakdown });
    expect(credits(item)['llm']).toBe(0.03);
    const claude = { prompt: 2, cached: 0.2, cacheWrite: 2.5, completion: 10 };
    expect(credits(item, { llm: { openai: claude } })['llm']).toBe(0.0111);
  });

  it('is reckoned for each who took part by its own price', () => {
    const [stt, , tts] = call().cost_breakdown;
    const cost_breakdown = [stt, { ...stt, provider: 'whisper' }, tts, { ...tts, provider: 'rime', model: 'coda' }];
    const item = call({ cost_breakdown: cost_breakdown as CallHistoryItem['cost_breakdown'], carrier_call_log: null });
    const prices = { stt: { deepgram: 0.02 }, tts: { elevenlabs: 300, 'rime/coda': 50 } };
    expect(priced(item, prices, () => 1).map(({ provider, credit }) => [provider, credit])).toEqual([
      ['deepgram', 0.03],
      ['whisper', 0],
      ['elevenlabs', 0.36],
      ['rime', 0.06],
    ]);
  });

  it.each([
    ['outbound', '+19005550100', 10],
    ['outbound', '+12025550100', 0.02],
    ['outbound', '+4930123', 2],
    ['inbound', '+12025550100', 0.008],
    ['inbound', '+4930123', 0],
  ])('%s to %s has the rate of the longest beginning', (direction, to, credit) => {
    const carrier_call_log = { ...call().carrier_call_log, direction, to };
    expect(credits(call({ carrier_call_log }))['voip']).toBe(credit);
  });

  it('is nothing for what has no price, and no line for what was no phone call', () => {
    expect(credits(call(), {})).toEqual({ stt: 0, llm: 0, tts: 0, voip: 0 });
    expect(credits(call({ carrier_call_log: null }))).not.toHaveProperty('voip');
    const unanswered = { ...call().carrier_call_log, answeredMs: null };
    expect(priced(call({ carrier_call_log: unanswered }), PRICES, () => 1).at(-1)).toMatchObject({
      minutes: 0,
      credit: 0,
    });
  });

  it('is never negative or no number, and priced twice it is the same', () => {
    const amount = fc.double({ min: 0, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(amount, amount, fc.nat(1e9), (price, seconds, tokens) => {
        const prices = { stt: { deepgram: price }, llm: { openai: { prompt: price, completion: price } } };
        const [stt, llm, ...others] = call().cost_breakdown;
        const used = [
          { ...stt, seconds },
          { ...llm, prompt_tokens: tokens },
          ...others,
        ] as CallHistoryItem['cost_breakdown'];
        const cost_breakdown = priced(call({ cost_breakdown: used }), prices, () => 1);
        expect(cost_breakdown.every(({ credit }) => Number.isFinite(credit) && credit >= 0)).toBe(true);
        expect(priced(call({ cost_breakdown }), prices, () => 1)).toEqual(cost_breakdown);
      }),
    );
  });

  it.each([
    [{ stt: { deepgram: -1 } }, 'stt'],
    [{ llm: { 'gpt-4o': 5 } }, 'llm'],
    [{ voip: { simulated: { outbound: { '0049': 1 } } } }, 'voip'],
    [{ fax: {} }, 'fax'],
  ])('is not reckoned by %j', (prices, member) => {
    expect(() => parseWith(pricesSchema, prices, ['prices'])).toThrow(member);
  });
});
