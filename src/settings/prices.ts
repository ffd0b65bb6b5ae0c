import * as z from 'zod';

const price = z.number().min(0).max(1_000_000);
const name = z.string().min(1).max(200);
/** Prices per minute by prefix of the called number; `*` = all other numbers. */
const rates = z.record(z.string().regex(/^(?:\+\d{1,15}|\*)$/, 'Input should be + and digits, or *'), price);

/**
 * The operator's costs, for `credit` in the cost breakdown of a call. Names are `provider/model`, a model or a provider;
 * the most specific name applies, and the default price is 0.
 */
export const pricesSchema = z.strictObject({
  /** Currency, for display. Default `credits`. */
  unit: z.string().min(1).max(20).exactOptional(),
  /** Speech recognition, per minute. */
  stt: z.record(name, price).exactOptional(),
  /**
   * Language models, per million tokens. `cached` is for prompt tokens from the vendor's cache, `cacheWrite` for those
   * written to it; both default to `prompt`. `audio` is for audio tokens of speech-to-speech models; its `cached` defaults
   * to its `prompt`. Without `audio`, audio tokens cost as much as text tokens.
   */
  llm: z
    .record(
      name,
      z.strictObject({
        prompt: price,
        cached: price.exactOptional(),
        cacheWrite: price.exactOptional(),
        completion: price,
        audio: z.strictObject({ prompt: price, cached: price.exactOptional(), completion: price }).exactOptional(),
      }),
    )
    .exactOptional(),
  /** Voices, per million characters. */
  tts: z.record(name, price).exactOptional(),
  /** Phone calls, by carrier. */
  voip: z
    .record(
      name,
      z.strictObject({
        outbound: rates.exactOptional(),
        inbound: rates.exactOptional(),
        /** Seconds are rounded up to a multiple of this. Default 1. */
        roundToS: z.int().min(1).max(3_600).exactOptional(),
      }),
    )
    .exactOptional(),
});

export type Prices = z.infer<typeof pricesSchema>;
