import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { HttpTts, type HttpTtsOptions, type SpeechEndpoint } from '../shared/http-tts.js';
import { objectOf, textOf } from '../../wire/json.js';
import type { VoiceListing } from '../shared/account-voices.js';
import type { TtsVoice } from '../tts.js';
import type { SettingSpecs, VendorVoiceSettings } from '../shared/vendor-voice-settings.js';
import { openAiVoice } from './openai-voice.js';

/**
 * OpenAI's speech endpoint, `POST /audio/speech`, and the operator's compatible servers. It gives no word
 * times. Source: platform.openai.com/docs/api-reference/audio/createSpeech with the types of the official
 * SDK 7.57.0; Kokoro: remsky/Kokoro-FastAPI; Orpheus: Lex-au/Orpheus-FastAPI; Sesame: phildougherty/sesame_csm_openai.
 */
export interface OpenAiSpeechOptions {
  name: string;
  /** With its version: `https://api.openai.com/v1`. */
  baseUrl: string;
  model: string;
  voices: readonly string[];
  /** Requested format: raw 24 kHz PCM if the server can stream it. */
  format: 'pcm' | 'wav';
  settings: SettingSpecs;
  languages?: readonly string[];
  /** Whether the server lists its voices, as Kokoro-FastAPI does. Default false: OpenAI has no such endpoint. */
  listsVoices?: boolean;
}

const SAMPLE_RATE_HZ = 24_000;
const SPEED: SettingSpecs = { speed: { type: 'number', least: 0.25, most: 4 } };

type More = Partial<HttpTtsOptions>;

export function openAiTts(access: VendorAccess, more: More = {}): HttpTts {
  return openAiSpeech(access, more, {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    model: 'gpt-4o-mini-tts',
    voices: 'alloy ash ballad coral echo fable onyx nova sage shimmer verse marin cedar'.split(' '),
    format: 'pcm',
    settings: { ...SPEED, instructions: { type: 'text' } },
  });
}

export function kokoroTts(access: VendorAccess, more: More = {}): HttpTts {
  return openAiSpeech(access, more, {
    name: 'kokoro',
    baseUrl: '',
    listsVoices: true,
    model: 'kokoro',
    voices: 'af_heart af_bella af_nicole am_michael am_fenrir bf_emma bm_george'.split(' '),
    format: 'pcm',
    settings: { ...SPEED, lang_code: { type: 'text' } },
  });
}

export function orpheusTts(access: VendorAccess, more: More = {}): HttpTts {
  return openAiSpeech(access, more, {
    name: 'orpheus',
    baseUrl: '',
    listsVoices: true,
    model: 'orpheus',
    voices: 'tara leah jess leo dan mia zac zoe'.split(' '),
    format: 'wav',
    settings: SPEED,
    languages: ['en'],
  });
}

export function sesameTts(access: VendorAccess, more: More = {}): HttpTts {
  return openAiSpeech(access, more, {
    name: 'sesame',
    baseUrl: '',
    listsVoices: true,
    model: 'csm-1b',
    voices: 'alloy echo fable onyx nova shimmer'.split(' '),
    format: 'wav',
    settings: SPEED,
    languages: ['en'],
  });
}

function openAiSpeech({ apiKey, baseUrl }: VendorAccess, more: More, options: OpenAiSpeechOptions): HttpTts {
  const { name, voices, settings, languages } = options;
  const http = {
    baseUrl: baseUrl ?? options.baseUrl,
    headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
    secrets: apiKey === null ? [] : [apiKey],
  };
  return new HttpTts({
    name,
    endpoint: new OpenAiEndpoint(options),
    http,
    listing: options.listsVoices === true ? listing(http) : undefined,
    settings,
    voices: voices.map((id): TtsVoice => ({ id, name: id, language: 'en', sampleRateHz: SAMPLE_RATE_HZ })),
    languages,
    ...more,
  });
}

/** Names, or objects with an id or a name. */
function listing(http: VoiceListing['http']): VoiceListing {
  return {
    http,
    path: '/audio/voices',
    read: (page) => {
      const list = objectOf(page)?.['voices'] ?? page;
      const ids = (Array.isArray(list) ? (list as unknown[]) : []).map((one) => {
        const { voice_id, id, name } = objectOf(one) ?? {};
        return textOf(one) ?? textOf(id) ?? textOf(voice_id) ?? textOf(name) ?? '';
      });
      return { voices: ids.map((id) => ({ id, name: id, language: null })) };
    },
  };
}

class OpenAiEndpoint implements SpeechEndpoint {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly warmUpPath = '/models';
  readonly #options: OpenAiSpeechOptions;

  constructor(options: OpenAiSpeechOptions) {
    this.#options = options;
  }

  request(input: string, { voiceId, model, settings }: VendorVoiceSettings) {
    const { format, voices, model: usual } = this.#options;
    const body = {
      model: model ?? usual,
      input,
      voice: openAiVoice(voiceId ?? voices[0] ?? ''),
      response_format: format,
      ...settings,
    };
    return {
      path: '/audio/speech',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
  }
}
