import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { pronunciationSchema } from '../../agent/extensions/pronunciation.js';
import { languageSchema } from '../../agent/language.js';
import { encodeUrlText } from '../../base/url-text.js';
import type { StoredVoice } from '../../store/voices.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { Clients } from '../http/clients.js';
import { signedQuery, type SignedUrls } from '../http/signed-urls.js';
import type { Voices } from './voices.js';

export interface VoiceRoutesOptions {
  voices: Voices;
  clients: Clients;
  links: SignedUrls;
}

/** How long the link to a preview is valid. */
const LINK_S = 3_600;

const nameShape = {
  provider: z.string().min(1).max(64).describe('A registered text-to-speech provider'),
  voice_id: z.string().min(1).max(200).describe('The id that agents use'),
};
const previewUrl = z.string().describe('Valid for an hour, without a key');
const customSchema = z
  .strictObject({
    ...nameShape,
    name: z.string(),
    model: z.string().nullable(),
    settings: z.record(z.string(), z.unknown()),
    preview_url: previewUrl,
    language: z.string().nullable(),
    category: z.string().nullable(),
    multiplier: z.number(),
  })
  .meta({ id: 'CustomVoice', description: "A provider's voice with its own name, model and settings." });
const voiceSchema = z
  .strictObject({
    ...nameShape,
    name: z.string(),
    language: z.string().nullable().describe("In the provider's notation"),
    preview_url: previewUrl,
    custom: z.boolean(),
    base_voice_id: z.string().describe("The provider's id of the voice"),
  })
  .meta({ id: 'NameableVoice', description: 'A voice that agents can name.' });
const newSchema = z
  .strictObject({
    ...nameShape,
    base_voice_id: z.string().min(1).max(200).nullish().describe("The provider's id of the voice. Default `voice_id`."),
    name: z.string().min(1).max(200),
    model: z.string().min(1).max(200).nullish().describe("Default: the provider's"),
    settings: z
      .record(z.string().max(100), z.unknown())
      .nullish()
      .describe('Settings of the provider, see docs/providers.md. Those of an agent override them'),
    language: languageSchema.nullish().describe("Default: the language of the provider's voice"),
    category: z.string().max(200).nullish(),
    multiplier: z.number().min(0).max(1_000).nullish().describe("Factor on the provider's price. Default 1"),
  })
  .meta({ id: 'CustomVoiceCreate' });
const deleteSchema = z.strictObject(nameShape).meta({ id: 'CustomVoiceName' });

const sayingSchema = z
  .strictObject({
    text: z.string().min(1).max(2_000).describe('What an agent would say, with mark-up for pauses and spelling'),
    provider: z.string().min(1).max(64).nullish().describe("Default: the operator's"),
    voice_id: z.string().min(1).max(200).nullish().describe("Default: the provider's voice for the language"),
    model: z.string().min(1).max(200).nullish().describe("Default: the provider's"),
    settings: z.record(z.string().max(100), z.unknown()).nullish().describe('Settings of the provider'),
    language: languageSchema.nullish().describe("Default: the operator's"),
    pronunciation: pronunciationSchema.nullish().describe("An agent's `extensions.pronunciation`"),
    audio: z.boolean().nullish().describe('Whether it is synthesised. Default true'),
  })
  .meta({ id: 'TextToSay' });
const saidSchema = z
  .strictObject({
    text: z.string().describe('What is shown and stored'),
    spoken: z.string().describe('What a voice that takes no phonemes is given'),
    audio: z.string().nullable().describe('A WAV file in base64'),
  })
  .meta({ id: 'SaidText', description: 'A text as it is shown, said and heard.' });

const EXAMPLE: z.output<typeof customSchema> = {
  provider: 'flite',
  voice_id: 'olive',
  name: 'Olive',
  model: null,
  settings: {},
  preview_url: 'https://calls.example.com/voices/flite/olive/preview?expires=1795451693&signature=gBd32dZy3ecWwnGs',
  language: 'en-US',
  category: 'restaurant',
  multiplier: 1,
};

/** A language without a region matches all regions. Some clients of this API send `lang_code`. */
const languageQuery = {
  language: z.string().min(1).max(35).exactOptional(),
  lang_code: z.string().min(1).max(35).exactOptional().describe('The same as `language`.'),
};

const tag = 'voices';
const customPath = '/voices/custom';

/** The voices of providers and custom voices, with previews. */
export function voiceRoutes(api: Api, options: VoiceRoutesOptions): void {
  listRoute(api, options);
  customRoutes(api, options);
  previewRoute(api, options);
  sayRoute(api, options);
}

/** All voices. */
function listRoute(api: Api, options: VoiceRoutesOptions): void {
  api.add({
    id: 'listVoices',
    method: 'GET',
    path: '/voices',
    tag,
    summary: 'All voices that agents can name',
    query: { provider: z.string().min(1).max(64).exactOptional(), ...languageQuery },
    description: '`language` filters by language. Without a region it matches all regions.',
    answer: z.array(voiceSchema),
    examples: () => ({
      answer: [
        {
          provider: EXAMPLE.provider,
          voice_id: EXAMPLE.voice_id,
          name: EXAMPLE.name,
          language: EXAMPLE.language,
          preview_url: EXAMPLE.preview_url,
          custom: true,
          base_voice_id: 'slt',
        },
      ],
    }),
    handle: async ({ query: { provider, lang_code, language = lang_code }, request }) => {
      const all = await options.voices.all();
      return all
        .filter((voice) => provider === undefined || voice.provider === provider)
        .filter((voice) => language === undefined || isOf(language, voice.language))
        .map(({ custom, ...voice }) => ({
          provider: voice.provider,
          voice_id: voice.voiceId,
          name: voice.name,
          language: voice.language,
          preview_url: previewUrlOf(voice, request, options),
          custom: custom !== null,
          base_voice_id: custom?.baseVoiceId ?? voice.voiceId,
        }));
    },
  });
}

/** Custom voices. */
function customRoutes(api: Api, options: VoiceRoutesOptions): void {
  api.add({
    id: 'listCustomVoices',
    method: 'GET',
    path: customPath,
    tag,
    summary: 'The custom voices',
    query: languageQuery,
    answer: z.array(customSchema),
    examples: () => ({ answer: [EXAMPLE] }),
    handle: ({ request, query: { lang_code, language = lang_code } }) =>
      options.voices
        .custom()
        .filter((voice) => language === undefined || isOf(language, voice.language))
        .map((voice) => replyOf(voice, previewUrlOf(voice, request, options))),
  });

  api.add({
    id: 'createCustomVoice',
    method: 'POST',
    path: customPath,
    tag,
    summary: 'Add a custom voice, or change the one with its name',
    body: newSchema,
    description: 'The daemon synthesises a sentence with the voice before it stores it.',
    answer: customSchema,
    errors: ['PROVIDER_FAILED', 'PROVIDER_REFUSED', 'PROVIDER_TIMEOUT'],
    examples: () => ({
      body: {
        provider: 'flite',
        voice_id: 'olive',
        base_voice_id: 'slt',
        name: 'Olive',
        language: 'en-US',
        category: 'restaurant',
      },
      answer: EXAMPLE,
    }),
    handle: async ({ body, request }) => {
      const { provider, voice_id: voiceId, name, model = null, language = null, category = null } = body;
      const added = await options.voices.add({
        provider,
        voiceId,
        name,
        model,
        language,
        category,
        baseVoiceId: body.base_voice_id ?? voiceId,
        settings: body.settings ?? {},
        multiplier: body.multiplier ?? 1,
      });
      return replyOf(added, previewUrlOf(added, request, options));
    },
  });

  api.add({
    id: 'deleteCustomVoice',
    method: 'DELETE',
    path: customPath,
    tag,
    summary: 'Delete a custom voice',
    body: deleteSchema,
    answer: success,
    errors: ['NOT_FOUND', 'VOICE_IN_USE'],
    examples: () => ({ body: { provider: 'flite', voice_id: 'olive' } }),
    handle: async ({ body: { provider, voice_id: voiceId } }) => {
      await options.voices.remove(provider, voiceId);
      return { success: true };
    },
  });
}

/** A spoken sample of a voice. */
function previewRoute(api: Api, { voices, links }: VoiceRoutesOptions): void {
  api.add({
    id: 'getVoicePreview',
    method: 'GET',
    path: '/voices/{provider}/{voice_id}/preview',
    tag,
    params: nameShape,
    query: signedQuery,
    summary: 'A sentence spoken by a voice',
    description: 'Use the `preview_url` of the voice, which is signed and expires. It needs no key.',
    gate: ({ url }) => links.check(url),
    security: 'none',
    content: 'audio/wav',
    errors: ['LINK_INVALID', 'PROVIDER_FAILED', 'PROVIDER_REFUSED', 'PROVIDER_TIMEOUT', 'TTS_ENGINE_MISSING'],
    handle: async ({ params: { provider, voice_id: voiceId }, reply }) => {
      const wav = await voices.preview(provider, voiceId);
      void reply.headers({ 'content-type': 'audio/wav', 'cache-control': `private, max-age=${String(LINK_S)}` });
      return reply.send(Buffer.from(wav));
    },
  });
}

/** A text, said by a voice with a dictionary. */
function sayRoute(api: Api, { voices }: VoiceRoutesOptions): void {
  api.add({
    id: 'sayText',
    method: 'POST',
    path: '/voices/say',
    tag,
    summary: 'Say a text with a voice and a dictionary',
    description:
      'Shows what the voice is given for numbers, mark-up and words of the dictionary: docs/pronunciation.md.',
    body: sayingSchema,
    answer: saidSchema,
    errors: ['PROVIDER_FAILED', 'PROVIDER_REFUSED', 'PROVIDER_TIMEOUT', 'TTS_ENGINE_MISSING'],
    examples: () => ({
      body: {
        text: 'Ask Siobhan for order <spell>AB12</spell>.',
        pronunciation: { words: [{ word: 'Siobhan', respelling: 'shi-vawn' }] },
        audio: false,
      },
      answer: { text: 'Ask Siobhan for order AB12.', spoken: 'Ask shi-vawn for order A B one two.', audio: null },
    }),
    handle: async ({ body }) => {
      const { text, spoken, wav } = await voices.say({
        text: body.text,
        provider: body.provider ?? null,
        voiceId: body.voice_id ?? null,
        model: body.model ?? null,
        settings: body.settings ?? {},
        language: body.language ?? null,
        pronunciation: body.pronunciation ?? null,
        isHeard: body.audio ?? true,
      });
      return { text, spoken, audio: wav === null ? null : Buffer.from(wav).toString('base64') };
    },
  });
}

function previewUrlOf(
  { provider, voiceId }: Pick<StoredVoice, 'provider' | 'voiceId'>,
  { raw }: FastifyRequest,
  { clients, links }: VoiceRoutesOptions,
): string {
  const path = `/voices/${encodeUrlText(provider)}/${encodeUrlText(voiceId)}/preview`;
  return links.url(path, LINK_S, links.baseOf(clients.of(raw)));
}

/** The JSON of the API. */
function replyOf(voice: StoredVoice, url: string): z.output<typeof customSchema> {
  const { provider, voiceId, name, model, settings, language, category, multiplier } = voice;
  return {
    provider,
    voice_id: voiceId,
    name,
    model,
    settings: { ...settings },
    language,
    category,
    multiplier,
    preview_url: url,
  };
}

/** `en` matches `en-US`, and `en-US` itself. Providers write languages in upper or lower case. */
function isOf(wanted: string, language: string | null): boolean {
  const [one, other] = [wanted.toLowerCase(), language?.toLowerCase() ?? ''];
  return one === other || other.startsWith(`${one}-`);
}
