import * as z from 'zod';

const price = z.number().min(0).max(1_000_000);
const name = z.string().min(1).max(200);
/** Prices a minute, by how the number that was called begins; `*` is for all others. */
const rates = z.record(z.string().regex(/^(?:\+\d{1,15}|\*)$/, 'Input should be +, and digits, or *'), price);

/**
 * What things cost the operator: `credit` in the cost breakdown of a call. Names are `provider/model`, a model or a
 * provider; the most exact one counts, and what has none costs nothing.
 */
export const pricesSchema = z.strictObject({
  /** What the prices are in, for reading. Default `credits`. */
  unit: z.string().min(1).max(20).exactOptional(),
  /** Speech recognition, a minute. */
  stt: z.record(name, price).exactOptional(),
  /**
   * Language models, a million tokens. `cached` is for those of the prompt that came out of the vendor's cache, `cacheWrite`
   * for those that were written to it; default `prompt`. `audio` is for those of models that hear and speak themselves, its
   * `cached` by default its `prompt`; without it they cost as much as others.
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
  /** Voices, a million characters. */
  tts: z.record(name, price).exactOptional(),
  /** Phone calls by the name of the carrier. */
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
