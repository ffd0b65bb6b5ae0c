import type { IncomingMessage } from 'node:http';
import { KEY } from './speech-double.js';

/** An answer to a request for the voices of an account; null = the request is another one. */
export type VoiceList = (request: IncomingMessage) => { status: number; body: object | readonly unknown[] } | null;

const ids = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${name}-${String(at)}`);
const denied = { status: 401, body: { detail: 'no such key' } };

function asked({ url = '', method }: IncomingMessage, pathname: string): URLSearchParams | null {
  const address = new URL(url, 'http://double');
  return method === 'GET' && address.pathname === pathname ? address.searchParams : null;
}

/**
 * `GET /v2/voices`, in pages. elevenlabs.io/docs/api-reference/voices/search, with the serialization of
 * @elevenlabs/elevenlabs-js 2.73.0 (2026-11).
 */
export const elevenLabsVoices: VoiceList = (request) => {
  const query = asked(request, '/v2/voices');
  if (query === null) return null;
  if (request.headers['xi-api-key'] !== KEY) return denied;
  const size = Number(query.get('page_size') ?? 10);
  if (!(size >= 1 && size <= 100)) return { status: 422, body: { detail: 'page_size' } };
  const all = ids('cloned', 130);
  const from = Number(query.get('next_page_token') ?? 0);
  const end = from + size;
  const voices = all.slice(from, end).map((voice_id, at) => ({
    voice_id,
    name: `Voice ${voice_id}`,
    category: 'cloned',
    labels: at === 0 ? { language: 'de', accent: 'swabian' } : {},
  }));
  const has_more = end < all.length;
  const page = { voices, has_more, total_count: 0 };
  return { status: 200, body: has_more ? { ...page, next_page_token: String(end) } : page };
};

/** `GET /voices`, in pages. docs.cartesia.ai/2026-03-01/api-reference/voices/list, with the types of the SDK 4.2.0. */
export const cartesiaVoices: VoiceList = (request) => {
  const query = asked(request, '/voices');
  if (query === null) return null;
  const { headers } = request;
  if (headers.authorization !== `Bearer ${KEY}` || headers['cartesia-version'] === undefined) return denied;
  const limit = Number(query.get('limit') ?? 10);
  if (!(limit >= 1 && limit <= 100)) return { status: 400, body: { error: 'limit' } };
  const all = ids('mine', 101);
  const from = all.indexOf(query.get('starting_after') ?? '') + 1;
  const data = all.slice(from, from + limit).map((id) => ({
    id,
    name: `Voice ${id}`,
    is_owner: true,
    access: 'private',
    visibility: 'owner',
    language: 'fr',
    description: '',
    tagline: '',
    created_at: '2026-01-01T00:00:00Z',
    locales: [],
  }));
  return { status: 200, body: { data, has_more: from + limit < all.length } };
};

/** `GET /v1/models`. developers.deepgram.com/reference/manage/models/list */
export const deepgramVoices: VoiceList = (request) => {
  if (asked(request, '/v1/models') === null) return null;
  if (request.headers.authorization !== `Token ${KEY}`) return denied;
  const tts = ['aura-2-newest-en', 'aura-asteria-en'].map((canonical_name) => ({
    name: canonical_name.split('-').at(-2),
    canonical_name,
    architecture: canonical_name.replace(/-\w+-en$/, ''),
    languages: ['en', 'en-US'],
    version: '2026-01-01.0',
    uuid: 'u',
    metadata: {},
  }));
  return { status: 200, body: { stt: [], tts } };
};

/** learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech#get-a-list-of-voices */
export const azureVoices: VoiceList = (request) => {
  if (asked(request, '/cognitiveservices/voices/list') === null) return null;
  if (request.headers['ocp-apim-subscription-key'] !== KEY) return denied;
  const voice = { Gender: 'Female', SampleRateHertz: '24000', VoiceType: 'Neural', Status: 'GA' };
  const [Locale, ShortName] = ['de-DE', 'de-DE-KatjaNeural'];
  return { status: 200, body: [{ ...voice, Locale, ShortName, DisplayName: 'Katja', LocalName: 'Katja' }] };
};

/** docs.rime.ai/api-reference/data/voices-v2; it is public. */
export const rimeVoices: VoiceList = (request) => {
  if (asked(request, '/data/voices/all-v2.json') === null) return null;
  return { status: 200, body: { coda: { eng: ['lyra'], spa: ['sol'] }, mistv2: { eng: ['cove'] } } };
};

/** remsky/Kokoro-FastAPI, `GET /v1/audio/voices`, and Lex-au/Orpheus-FastAPI. */
export const openAiCompatibleVoices: VoiceList = (request) =>
  asked(request, '/audio/voices') === null ? null : { status: 200, body: { voices: ['af_sky', 'of_mine'] } };
