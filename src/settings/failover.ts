import * as z from 'zod';
import { setting } from '../schema/setting.js';

const nameSchema = z.string().min(1).max(200);
/** More than this nobody waits for. */
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

/** Who stands in where the provider that an agent names, or the operator's default, fails or is slow. */
export const failoverSchema = z.strictObject({
  stt: setting(z.array(recogniserSchema).max(MOST), 'Recognisers, in order: names, or `{provider, model?}`.'),
  llm: setting(z.array(nameSchema).max(MOST), 'Ids of language models, in order.'),
  tts: setting(
    z.array(voiceSchema).max(MOST),
    'Voices, in order: names of providers, or `{provider, voiceId?, model?, settings?}`.',
  ),
  embeddedVoice: setting(z.boolean(), 'An embedded voice says what no vendor says in time. Default true.'),
});

/** Lists in order, each behind what an agent names. */
export interface Failover {
  stt: readonly { provider: string; model?: string }[];
  llm: readonly string[];
  tts: readonly {
    provider: string;
    voiceId?: string;
    model?: string;
    settings?: Readonly<Record<string, unknown>>;
  }[];
  /** flite, or espeak-ng where it is installed, says what no vendor's voice says in time. Default true. */
  embeddedVoice?: boolean;
}

export const NO_FAILOVER: Failover = { stt: [], llm: [], tts: [] };

export function failoverOf(given: z.infer<typeof failoverSchema>): Failover {
  return {
    stt: (given.stt ?? []).map(asObject),
    llm: given.llm ?? [],
    tts: (given.tts ?? []).map(asObject),
    ...(given.embeddedVoice !== undefined && { embeddedVoice: given.embeddedVoice }),
  };
}

function asObject<T extends { provider: string }>(entry: string | T): T | { provider: string } {
  return typeof entry === 'string' ? { provider: entry } : entry;
}
