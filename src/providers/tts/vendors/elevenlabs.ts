import { encodeUrlText } from '../../../base/url-text.js';
import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { objectOf, objectsOf, parseObject, textOf, type JsonObject } from '../../wire/json.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { VoiceListing } from '../shared/account-voices.js';
import { SocketTts, type SocketTtsOptions } from '../shared/socket-tts.js';
import type { SpeechEvent, TtsDialect } from '../shared/dialect.js';
import { languageCode, type VendorVoiceSettings } from '../shared/vendor-voice-settings.js';
import { withPhonemes } from '../text/spoken-words.js';
import type { TimedText } from '../text/word-aligner.js';

/**
 * ElevenLabs' multi-context form of the stream-input WebSocket: utterances are contexts, five of them on a connection,
 * each of which can be closed alone; letters come with their times.
 * Source: elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-multi-stream-input, with its
 * AsyncAPI description (elevenlabs/elevenlabs-docs, fern/apis/api/asyncapi.yml, 2025-08-25); names on the wire as in
 * the official SDK 2.73.0.
 */
export function elevenLabsTts(access: VendorAccess, options: Partial<SocketTtsOptions> = {}): SocketTts {
  return new SocketTts({
    name: 'elevenlabs',
    protocol: new ElevenLabsProtocol(access),
    settings: {
      stability: { type: 'number', least: 0, most: 1 },
      similarity_boost: { type: 'number', least: 0, most: 1 },
      style: { type: 'number', least: 0, most: 1 },
      use_speaker_boost: { type: 'boolean' },
      speed: { type: 'number', least: 0.7, most: 1.2 },
    },
    wordTimes: true,
    secrets: access.apiKey === null ? [] : [access.apiKey],
    voices: [
      { id: DEFAULT_VOICE, name: 'George', language: 'en', sampleRateHz: SAMPLE_RATE_HZ },
      { id: 'EXAVITQu4vr4xnSDxMaL', name: 'Sarah', language: 'en', sampleRateHz: SAMPLE_RATE_HZ },
    ],
    listing: listing(access),
    languages: LANGUAGES,
    multilingual: true,
    ...options,
  });
}

/** elevenlabs.io/docs/api-reference/voices/search: those of the account, saved from the library, cloned, and the default ones. */
function listing({ baseUrl, apiKey }: VendorAccess): VoiceListing {
  const path = '/v2/voices?page_size=100&include_total_count=false';
  return {
    http: {
      baseUrl: baseUrl ?? BASE_URL,
      headers: { 'xi-api-key': apiKey ?? '' },
      secrets: apiKey === null ? [] : [apiKey],
    },
    path,
    read: (page) => {
      const { voices, has_more, next_page_token } = objectOf(page) ?? {};
      const token = has_more === true ? textOf(next_page_token) : null;
      return {
        voices: objectsOf(voices).map(({ voice_id, name, labels }) => {
          const id = textOf(voice_id) ?? '';
          return { id, name: textOf(name) ?? id, language: textOf(objectOf(labels)?.['language']) };
        }),
        next: token === null ? null : `${path}&next_page_token=${encodeUrlText(token)}`,
      };
    },
  };
}

const BASE_URL = 'https://api.elevenlabs.io';
const DEFAULT_VOICE = 'JBFqnCBsd6RMkjVDRZzb';
const DEFAULT_MODEL = 'eleven_flash_v2_5';
const SAMPLE_RATE_HZ = 24_000;
/** The API's maximum. */
const INACTIVITY_S = 180;
/** Models that take a language code; the multilingual ones detect it and refuse one. */
const MODELS_WITH_LANGUAGE = new Set(['eleven_flash_v2_5', 'eleven_turbo_v2_5']);
/** Models that read SSML's phonemes, in English only: elevenlabs.io/docs/eleven-agents/customization/voice/pronunciation-dictionary. */
const MODELS_WITH_PHONEMES = new Set(['eleven_flash_v2', 'eleven_turbo_v2', 'eleven_monolingual_v1']);
const LANGUAGES =
  'ar bg cs da de el en es fi fil fr hi hr hu id it ja ko ms nl no pl pt ro ru sk sv ta tr uk vi zh'.split(' ');
/** Codes of errors that the same request runs into again. */
const REFUSALS =
  /auth|api_key|permission|unauthor|forbidden|not_found|invalid|quota|payment|unsupported|validation|policy/i;

class ElevenLabsProtocol implements TtsDialect {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly concurrent = 5;
  readonly cancelEnds = 'done';
  /** A message without a context opens none, and keeps the connection. */
  readonly keepAlive = { afterMs: 60_000, message: () => JSON.stringify({ text: '' }) };
  readonly farewell = JSON.stringify({ close_socket: true });
  readonly #baseUrl: string;
  readonly #apiKey: string;

  constructor({ baseUrl, apiKey }: VendorAccess) {
    this.#baseUrl = baseUrl ?? BASE_URL;
    this.#apiKey = apiKey ?? '';
  }

  address({ voiceId, model, language }: VendorVoiceSettings): string {
    const base = languageCode(language);
    const model_id = model ?? DEFAULT_MODEL;
    const path = `/v1/text-to-speech/${encodeUrlText(voiceId ?? DEFAULT_VOICE)}/multi-stream-input`;
    return socketUrl(this.#baseUrl, path, {
      model_id,
      output_format: `pcm_${String(SAMPLE_RATE_HZ)}`,
      // Utterances are whole clauses: nothing is to wait for more.
      auto_mode: 'true',
      enable_ssml_parsing: MODELS_WITH_PHONEMES.has(model_id) ? 'true' : null,
      inactivity_timeout: String(INACTIVITY_S),
      language_code: base !== null && MODELS_WITH_LANGUAGE.has(model_id) && LANGUAGES.includes(base) ? base : null,
    });
  }

  headers(): Record<string, string> {
    return { 'xi-api-key': this.#apiKey };
  }

  takesPhonemes({ model, language }: VendorVoiceSettings): boolean {
    return MODELS_WITH_PHONEMES.has(model ?? DEFAULT_MODEL) && languageCode(language) === 'en';
  }

  begin(id: string, given: string, { model, settings }: VendorVoiceSettings): object[] {
    const hasSettings = Object.keys(settings).length > 0;
    const text = MODELS_WITH_PHONEMES.has(model ?? DEFAULT_MODEL) ? withPhonemes(given, phoneme, escaped) : given;
    return [
      { text: ' ', context_id: id, voice_settings: hasSettings ? settings : undefined },
      { text: `${text} `, context_id: id, flush: true },
      // Flushed text is still spoken; then the vendor reports the context's end.
      { context_id: id, close_context: true },
    ];
  }

  /** Flushed text cannot be cancelled: the rest of its audio arrives and is dropped. */
  cancel(): object[] {
    return [];
  }

  read(message: string): SpeechEvent[] {
    const data = parseObject(message);
    if (data === null) throw new Error('it is not a JSON object');
    const id = textOf(data['contextId'] ?? data['context_id']);
    const named = id === null ? {} : { id };
    const error = textOf(data['error']) ?? (data['code'] === 1008 ? 'policy' : null);
    if (error !== null) {
      const reason = textOf(data['message']) ?? error;
      return [{ type: 'error', ...named, reason, retryable: isPassing(error) }];
    }
    if (id === null) return [];
    const events: SpeechEvent[] = [];
    const words = lettersOf(objectOf(data['alignment']));
    if (words.length > 0) events.push({ type: 'words', id, words, withAudio: true });
    const audio = textOf(data['audio']);
    if (audio !== null && audio !== '') events.push({ type: 'audio', id, bytes: Buffer.from(audio, 'base64') });
    if (data['isFinal'] === true || data['is_final'] === true) events.push({ type: 'done', id });
    return events;
  }
}

function phoneme(word: string, ipa: string): string {
  return `<phoneme alphabet="ipa" ph="${escaped(ipa).replaceAll('"', '&quot;')}">${escaped(word)}</phoneme>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Too many contexts, or a busy system, pass. */
function isPassing(code: string): boolean {
  return /max_active|too_many|rate|busy|concurrent|timeout|internal/i.test(code) || !REFUSALS.test(code);
}

function lettersOf(alignment: JsonObject | null): TimedText[] {
  const chars: unknown = alignment?.['chars'];
  const starts: unknown = alignment?.['charStartTimesMs'];
  const lengths: unknown = alignment?.['charDurationsMs'] ?? alignment?.['charsDurationsMs'];
  if (!Array.isArray(chars) || !Array.isArray(starts) || !Array.isArray(lengths)) return [];
  const letters: TimedText[] = [];
  for (const [index, text] of chars.entries()) {
    const [startMs, lengthMs] = [starts[index] as unknown, lengths[index] as unknown];
    if (typeof text !== 'string' || typeof startMs !== 'number' || typeof lengthMs !== 'number') return [];
    letters.push({ text, startMs, endMs: startMs + lengthMs });
  }
  return letters;
}
