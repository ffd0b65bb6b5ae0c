import { encodeUrlText } from '../../../base/url-text.js';
import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { numberOf, objectOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { VoiceListing } from '../shared/account-voices.js';
import { SocketTts, type SocketTtsOptions } from '../shared/socket-tts.js';
import type { SpeechEvent, TtsDialect } from '../shared/dialect.js';
import { languageCode, type VendorVoiceSettings } from '../shared/vendor-voice-settings.js';
import { cartesiaPhonemes } from '../text/phonemes.js';
import { withPhonemes } from '../text/spoken-words.js';
import { timedWords } from '../text/word-lists.js';

/**
 * Cartesia's text-to-speech WebSocket: utterances are contexts, of which dozens share one connection; words come with
 * their times. Source: docs.cartesia.ai/2026-03-01/api-reference/tts/websocket and …/use-the-api/tts-websocket/contexts,
 * with the types of the official SDK 4.2.0.
 */
export function cartesiaTts(access: VendorAccess, options: Partial<SocketTtsOptions> = {}): SocketTts {
  return new SocketTts({
    name: 'cartesia',
    protocol: new CartesiaProtocol(access),
    settings: {
      speed: { type: 'number', least: 0.6, most: 1.5 },
      volume: { type: 'number', least: 0.5, most: 2 },
      emotion: { type: 'text' },
    },
    wordTimes: true,
    secrets: access.apiKey === null ? [] : [access.apiKey],
    voices: [
      { id: DEFAULT_VOICE, name: 'the voice of the documentation', language: 'en', sampleRateHz: SAMPLE_RATE_HZ },
    ],
    listing: listing(access),
    languages: LANGUAGES,
    multilingual: true,
    ...options,
  });
}

/** docs.cartesia.ai/2026-03-01/api-reference/voices/list: the account's own, and the library. */
function listing({ baseUrl, apiKey }: VendorAccess): VoiceListing {
  const path = '/voices?limit=100';
  return {
    http: { baseUrl: baseUrl ?? BASE_URL, headers: headersFor(apiKey), secrets: apiKey === null ? [] : [apiKey] },
    path,
    read: (page) => {
      const { data, has_more } = objectOf(page) ?? {};
      const voices = objectsOf(data).map(({ id: given, name, language }) => {
        const id = textOf(given) ?? '';
        return { id, name: textOf(name) ?? id, language: textOf(language) };
      });
      const last = voices.at(-1)?.id ?? '';
      const next = has_more === true && last !== '' ? `${path}&starting_after=${encodeUrlText(last)}` : null;
      return { voices, next };
    },
  };
}

function headersFor(apiKey: string | null): Record<string, string> {
  return { authorization: `Bearer ${apiKey ?? ''}`, 'cartesia-version': API_VERSION };
}

const BASE_URL = 'https://api.cartesia.ai';
const DEFAULT_VOICE = 'a0e99841-438c-4a64-b679-ae501e7d6091';
const DEFAULT_MODEL = 'sonic-3.5';
const API_VERSION = '2026-03-01';
const SAMPLE_RATE_HZ = 24_000;
const LANGUAGES = (
  'en fr de es pt zh ja hi it ko nl pl ru sv tr tl bg ro ar cs el fi hr ms sk da ta uk hu no vi bn th he ka id te gu kn ' +
  'ml mr pa or ur'
).split(' ');

class CartesiaProtocol implements TtsDialect {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly concurrent = 20;
  readonly cancelEnds = 'at once';
  readonly #baseUrl: string;
  readonly #apiKey: string;

  constructor({ baseUrl, apiKey }: VendorAccess) {
    this.#baseUrl = baseUrl ?? BASE_URL;
    this.#apiKey = apiKey ?? '';
  }

  /** One for all voices: a message names its own. */
  address(): string {
    return socketUrl(this.#baseUrl, '/tts/websocket');
  }

  headers(): Record<string, string> {
    return headersFor(this.#apiKey);
  }

  /** docs.cartesia.ai/build-with-cartesia/capability-guides/phonemes; older models take other symbols for English. */
  takesPhonemes({ model }: VendorVoiceSettings): boolean {
    return /^sonic-(?:2(?!024)|3|turbo)/.test(model ?? DEFAULT_MODEL);
  }

  begin(id: string, text: string, { voiceId, model, language, settings }: VendorVoiceSettings): object[] {
    const base = languageCode(language);
    const transcript = withPhonemes(text, (_word, ipa) => cartesiaPhonemes(ipa, language));
    return [
      {
        model_id: model ?? DEFAULT_MODEL,
        transcript,
        voice: { mode: 'id', id: voiceId ?? DEFAULT_VOICE },
        language: base ?? undefined,
        context_id: id,
        output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: SAMPLE_RATE_HZ },
        add_timestamps: true,
        continue: false,
        // The text is whole: nothing is to wait for more.
        max_buffer_delay_ms: 0,
        generation_config: Object.keys(settings).length > 0 ? settings : undefined,
      },
    ];
  }

  cancel(id: string): object[] {
    return [{ context_id: id, cancel: true }];
  }

  read(message: string): SpeechEvent[] {
    const data = parseObject(message);
    if (data === null) throw new Error('it is not a JSON object');
    const id = textOf(data['context_id']);
    const named = id === null ? {} : { id };
    switch (data['type']) {
      case 'chunk': {
        const bytes = Buffer.from(textOf(data['data']) ?? '', 'base64');
        return id === null ? [] : [{ type: 'audio', id, bytes }];
      }
      case 'timestamps': {
        const words = timedWords(objectOf(data['word_timestamps']));
        return id === null || words.length === 0 ? [] : [{ type: 'words', id, words }];
      }
      case 'done':
        return id === null ? [] : [{ type: 'done', id }];
      case 'error': {
        const status = numberOf(data['status_code']) ?? 500;
        const said = [textOf(data['title']), textOf(data['message']), textOf(data['error'])];
        const reason = said.filter((text) => text !== null).join(': ');
        return [{ type: 'error', ...named, reason, retryable: status === 408 || status === 429 || status >= 500 }];
      }
      default: // flush_done and what may come in later versions
        return [];
    }
  }
}
