import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { objectOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { VoiceListing } from '../shared/account-voices.js';
import { SocketTts, type SocketTtsOptions } from '../shared/socket-tts.js';
import type { SpeechEvent, TtsDialect } from '../shared/dialect.js';
import { languageCode, type VendorVoiceSettings } from '../shared/vendor-voice-settings.js';
import { withPhonemes } from '../text/spoken-words.js';

/** The voices of Aura-2 by language, as the reference of 2026-07-22 lists them; the first of each is the default. */
const NAMES: Readonly<Record<string, string>> = {
  en: 'thalia amalthea andromeda apollo arcas aries asteria athena atlas aurora callista cora cordelia delia draco electra harmonia helena hera hermes hyperion iris janus juno jupiter luna mars minerva neptune odysseus ophelia orion orpheus pandora phoebe pluto saturn selene theia vesta zeus',
  es: 'celeste agustina alvaro antonia aquila carina diana estrella gloria javier luciano nestor olivia selena silvia sirio valerio',
  de: 'viktoria aurelia elara fabian julius kara lara',
  nl: 'rhea beatrix cornelia daphne hestia lars leda roman sander',
  fr: 'agathe hector',
  it: 'livia cesare cinzia demetra dionisio elio flavio maia melia perseo',
  ja: 'izanami ama ebisu fujin uzume',
};

export const DEEPGRAM_VOICES: readonly string[] = Object.entries(NAMES).flatMap(([language, names]) =>
  names.split(' ').map((name) => `aura-2-${name}-${language}`),
);

/** The default voice of a language; of English where it has none. */
export function deepgramVoiceFor(language: string): string {
  return DEEPGRAM_VOICES.find((id) => id.endsWith(`-${language}`)) ?? 'aura-2-thalia-en';
}

/**
 * Deepgram's Aura over its streaming WebSocket: one utterance at a time per connection, ended by Flush, cancelled by
 * Clear. It gives no word times.
 * Source: developers.deepgram.com/reference/text-to-speech/speak-streaming (AsyncAPI in deepgram/deepgram-api-specs,
 * 2026-07-22); limits of Flush from developers.deepgram.com/docs/tts-ws-flush, speed from the changelog of 2026-05-04.
 */
export function deepgramTts(access: VendorAccess, options: Partial<SocketTtsOptions> = {}): SocketTts {
  return new SocketTts({
    name: 'deepgram',
    protocol: new DeepgramProtocol(access),
    settings: { speed: { type: 'number', least: 0.7, most: 1.5 } },
    secrets: access.apiKey === null ? [] : [access.apiKey],
    voices: DEEPGRAM_VOICES.map((id) => ({ id, ...describe(id), sampleRateHz: SAMPLE_RATE_HZ })),
    listing: listing(access),
    languages: [...new Set(DEEPGRAM_VOICES.map((id) => describe(id).language))],
    // Each voice is a model.
    hasModels: false,
    ...options,
  });
}

/** developers.deepgram.com/reference/manage/models/list */
function listing({ baseUrl, apiKey }: VendorAccess): VoiceListing {
  return {
    http: {
      baseUrl: baseUrl ?? BASE_URL,
      headers: { authorization: `Token ${apiKey ?? ''}` },
      secrets: apiKey === null ? [] : [apiKey],
    },
    path: '/v1/models',
    read: (page) => ({
      voices: objectsOf(objectOf(page)?.['tts'])
        .map(({ canonical_name }) => textOf(canonical_name) ?? '')
        .filter((id) => id.startsWith('aura-2-'))
        .map((id) => ({ id, ...describe(id) })),
    }),
  };
}

const BASE_URL = 'https://api.deepgram.com';
const SAMPLE_RATE_HZ = 24_000;

/** `aura-2-thalia-en`: Thalia, English. */
function describe(id: string): { name: string; language: string } {
  const [, , name = id, language = 'en'] = id.split('-');
  return { name: name.slice(0, 1).toUpperCase() + name.slice(1), language };
}

class DeepgramProtocol implements TtsDialect {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly concurrent = 1;
  readonly cancelEnds = 'cancelled';
  /** It flushes 20 times a minute, and answers nothing to the next one. */
  readonly perMinute = 19;
  readonly farewell = JSON.stringify({ type: 'Close' });
  readonly #baseUrl: string;
  readonly #apiKey: string;

  constructor({ baseUrl, apiKey }: VendorAccess) {
    this.#baseUrl = baseUrl ?? BASE_URL;
    this.#apiKey = apiKey ?? '';
  }

  address({ voiceId, language, settings }: VendorVoiceSettings): string {
    const { speed } = settings;
    return socketUrl(this.#baseUrl, '/v1/speak', {
      model: voiceId ?? deepgramVoiceFor(languageCode(language) ?? 'en'),
      encoding: 'linear16',
      sample_rate: String(SAMPLE_RATE_HZ),
      speed: speed === undefined ? null : String(speed),
    });
  }

  headers(): Record<string, string> {
    return { authorization: `Token ${this.#apiKey}` };
  }

  /** English and Spanish voices: developers.deepgram.com/docs/tts-voice-controls, changelog of 2026-05-04. */
  takesPhonemes({ voiceId, language }: VendorVoiceSettings): boolean {
    const voice = voiceId ?? deepgramVoiceFor(languageCode(language) ?? 'en');
    return /^aura-2-.*-(?:en|es)$/.test(voice);
  }

  begin(_id: string, text: string): object[] {
    const said = withPhonemes(
      text,
      (word, pronounce) => String.raw`\{"word": ${JSON.stringify(word)}, "pronounce": ${JSON.stringify(pronounce)}\}`,
    );
    return [{ type: 'Speak', text: said }, { type: 'Flush' }];
  }

  cancel(): object[] {
    return [{ type: 'Clear' }];
  }

  read(message: string): SpeechEvent[] {
    const data = parseObject(message);
    if (data === null) throw new Error('it is not a JSON object');
    switch (data['type']) {
      case 'Flushed':
        return [{ type: 'done' }];
      case 'Cleared':
        return [{ type: 'cancelled' }];
      case 'Warning': {
        const reason = `${textOf(data['code']) ?? ''} ${textOf(data['description']) ?? ''}`.trim();
        // Other warnings are about audio that comes all the same.
        return /flush|limit|exceed/i.test(reason) ? [{ type: 'error', reason, retryable: true }] : [];
      }
      case 'Error': {
        const reason = textOf(data['description']) ?? textOf(data['err_msg']) ?? textOf(data['message']) ?? 'no reason';
        return [{ type: 'error', reason, retryable: true }];
      }
      default: // Metadata
        return [];
    }
  }

  readBinary(bytes: Buffer): SpeechEvent[] {
    return [{ type: 'audio', bytes }];
  }
}
