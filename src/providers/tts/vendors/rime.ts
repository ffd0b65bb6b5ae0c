import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { objectOf, parseObject, textOf } from '../../wire/json.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { VoiceListing } from '../shared/account-voices.js';
import { SocketTts, type SocketTtsOptions } from '../shared/socket-tts.js';
import type { SpeechEvent, TtsDialect } from '../shared/dialect.js';
import { languageCode, type VendorVoiceSettings } from '../shared/vendor-voice-settings.js';
import { timedWords } from '../text/word-lists.js';

/**
 * Rime's JSON WebSocket `/ws3`: one utterance at a time on a connection, marked by its contextId; words come with their
 * times. Source: docs.rime.ai/docs/websockets and docs.rime.ai/api-reference/arcana/websockets-json (2026); that
 * `flush` is answered with `done` as LiveKit's plug-in (plugins/rime/src/tts.ts, 2026-08-21) relies on it.
 */
export function rimeTts(access: VendorAccess, options: Partial<SocketTtsOptions> = {}): SocketTts {
  return new SocketTts({
    name: 'rime',
    protocol: new RimeProtocol(access),
    settings: {
      speedAlpha: { type: 'number', least: 0.5, most: 2 },
      timeScaleFactor: { type: 'number', least: 0.5, most: 2 },
      temperature: { type: 'number', least: 0, most: 1 },
      top_p: { type: 'number', least: 0, most: 1 },
      repetition_penalty: { type: 'number', least: 1, most: 2 },
      pauseBetweenBrackets: { type: 'boolean' },
      phonemizeBetweenBrackets: { type: 'boolean' },
      noTextNormalization: { type: 'boolean' },
    },
    wordTimes: true,
    secrets: access.apiKey === null ? [] : [access.apiKey],
    voices: [{ id: DEFAULT_VOICE, name: 'Astra', language: 'en', sampleRateHz: SAMPLE_RATE_HZ }],
    listing: listing(access),
    languages: Object.keys(LANGUAGES),
    ...options,
  });
}

/** docs.rime.ai/api-reference/data/voices-v2: by model and language. A voice without a model is spoken by the default one. */
function listing({ baseUrl }: VendorAccess): VoiceListing {
  return {
    // It is public.
    http: { baseUrl: baseUrl ?? 'https://users.rime.ai', headers: {}, secrets: [] },
    path: '/data/voices/all-v2.json',
    read: (page) => ({
      voices: Object.entries(objectOf(objectOf(page)?.[DEFAULT_MODEL]) ?? {}).flatMap(([language, names]) => {
        const ids = Array.isArray(names) ? names.map(textOf).filter((id) => id !== null) : [];
        const code = Object.entries(LANGUAGES).find(([, three]) => three === language)?.[0] ?? language;
        return ids.map((id) => ({ id, name: id.slice(0, 1).toUpperCase() + id.slice(1), language: code }));
      }),
    }),
  };
}

const DEFAULT_VOICE = 'astra';
const DEFAULT_MODEL = 'coda';
const SAMPLE_RATE_HZ = 24_000;
/** Rime writes them in three letters. */
const LANGUAGES: Readonly<Record<string, string>> = {
  en: 'eng',
  es: 'spa',
  fr: 'fra',
  de: 'ger',
  ja: 'jpn',
  pt: 'por',
  hi: 'hin',
};

class RimeProtocol implements TtsDialect {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly concurrent = 1;
  /** Late messages of a cleared context carry its id. */
  readonly cancelEnds = 'at once';
  readonly farewell = JSON.stringify({ operation: 'eos' });
  readonly #baseUrl: string;
  readonly #apiKey: string;

  constructor({ baseUrl, apiKey }: VendorAccess) {
    this.#baseUrl = baseUrl ?? 'https://users-ws.rime.ai';
    this.#apiKey = apiKey ?? '';
  }

  address({ voiceId, model, language, settings }: VendorVoiceSettings): string {
    const own = Object.entries(settings).map(([name, value]) => [name, String(value)] as const);
    return socketUrl(this.#baseUrl, '/ws3', {
      speaker: voiceId ?? DEFAULT_VOICE,
      modelId: model ?? DEFAULT_MODEL,
      audioFormat: 'pcm',
      samplingRate: String(SAMPLE_RATE_HZ),
      lang: LANGUAGES[languageCode(language) ?? ''] ?? null,
      // What is left of a text when it is flushed is spoken too.
      segment: 'bySentence',
      ...Object.fromEntries(own),
    });
  }

  headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#apiKey}` };
  }

  begin(id: string, text: string): object[] {
    return [
      { text: `${text} `, contextId: id },
      { operation: 'flush', contextId: id },
    ];
  }

  cancel(): object[] {
    return [{ operation: 'clear' }];
  }

  read(message: string): SpeechEvent[] {
    const data = parseObject(message);
    if (data === null) throw new Error('it is not a JSON object');
    const id = textOf(data['contextId']);
    const named = id === null ? {} : { id };
    switch (data['type']) {
      case 'chunk':
        return [{ type: 'audio', ...named, bytes: Buffer.from(textOf(data['data']) ?? '', 'base64') }];
      case 'timestamps': {
        const words = timedWords(objectOf(data['word_timestamps']));
        return words.length === 0 ? [] : [{ type: 'words', ...named, words }];
      }
      case 'done':
        return [{ type: 'done', ...named }];
      case 'error': {
        const reason = textOf(data['message']) ?? 'no reason';
        return [{ type: 'error', ...named, reason, retryable: !/invalid|unknown|unsupported|not found/i.test(reason) }];
      }
      default:
        return [];
    }
  }
}
