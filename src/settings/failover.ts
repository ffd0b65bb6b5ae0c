import * as z from 'zod';
import { setting } from '../schema/field.js';

const nameSchema = z.string().min(1).max(200);
/** Most fallbacks of a kind: nobody waits for more. */
const MOST = 8;

const recogniserSchema = z.union([
  nameSchema,
  z.strictObject({ provider: nameSchema, model: nameSchema.exactOptional() }),
]);
const voiceSchema = z.union([
  nameSchema,
  z.strictObject({
    provider: nameSchema,
    voiceId: nameSchema.exactOptional(),
    model: nameSchema.exactOptional(),
    settings: z.record(nameSchema, z.unknown()).exactOptional(),
  }),
]);

/** Fallbacks for when the agent's provider, or the operator's default, fails or is slow. */
export const failoverSchema = z.strictObject({
  stt: setting(z.array(recogniserSchema).max(MOST), 'Recognisers in order: names, or `{provider, model?}`.'),
  llm: setting(z.array(nameSchema).max(MOST), 'Ids of language models, in order.'),
  tts: setting(
    z.array(voiceSchema).max(MOST),
    'Voices in order: names of providers, or `{provider, voiceId?, model?, settings?}`.',
  ),
  hedgePercentile: setting(
    z.int().min(1).max(99),
    'A model that is later than this percentile of its times to the first token is asked a second time. Default off.',
  ),
  embeddedVoice: setting(z.boolean(), 'Whether an embedded voice is the last fallback. Default true.'),
});

/** Fallbacks in order; they follow the agent's own provider. */
export interface Failover {
  stt: readonly { provider: string; model?: string }[];
  llm: readonly string[];
  tts: readonly {
    provider: string;
    voiceId?: string;
    model?: string;
    settings?: Readonly<Record<string, unknown>>;
  }[];
  /** Whether flite, or espeak-ng if it is installed, is the last fallback for voices. Default true. */
  embeddedVoice?: boolean | undefined;
  /** Ask a model a second time when the first token is later than this percentile, 1 to 99. Default: never. */
  hedgePercentile?: number | undefined;
}

export const NO_FAILOVER: Failover = { stt: [], llm: [], tts: [] };

export function failoverOf(given: z.infer<typeof failoverSchema>): Failover {
  return {
    stt: (given.stt ?? []).map(asObject),
    llm: given.llm ?? [],
    tts: (given.tts ?? []).map(asObject),
    embeddedVoice: given.embeddedVoice,
    hedgePercentile: given.hedgePercentile,
  };
}

function asObject<T extends { provider: string }>(entry: string | T): T | { provider: string } {
  return typeof entry === 'string' ? { provider: entry } : entry;
}
