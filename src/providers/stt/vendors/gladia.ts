import { baseLanguage } from '../../../base/language.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { numberOf, objectOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { postJson } from '../../wire/vendor-http.js';
import { failed } from '../../wire/vendor-error.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect, VendorWord } from '../shared/dialect.js';
import { favoured } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';

const BASE_URL = 'https://api.gladia.io';

/** Languages of the interface that Gladia has no model for. docs.gladia.io/chapters/language/supported-languages */
const UNKNOWN = new Set('ast ceb ff fy ga gd ig ilo lg or ss tn wo xh zu'.split(' '));

/** Languages that Gladia calls otherwise than the interface: Javanese, Moldavian. */
const CODES: Readonly<Record<string, string>> = { jv: 'jw', mo: 'ro' };

/** So much silence ends an utterance, in seconds: about as much as our own VAD needs. */
const ENDPOINTING_S = 0.2;

/**
 * Live transcription, version 2: an HTTP request creates a session, which has its own WebSocket URL. There is no
 * message to request the final words, so Gladia's endpointing is set as short as our VAD's.
 * docs.gladia.io/api-reference/v2/live/init
 */
export function gladiaStt(options: VendorSttOptions): SocketSttProvider {
  const { connectTimeoutMs = 5000 } = options;
  const apiKey = options.apiKey ?? '';
  return new SocketSttProvider(
    {
      name: 'gladia',
      abilities: {
        models: true,
        multilingual: true,
        understands: (language) => !UNKNOWN.has(baseLanguage(language)),
      },
      dialect: async (stream) => {
        const { clock, signal } = stream;
        const session = await postJson({
          provider: 'gladia',
          url: `${options.baseUrl ?? BASE_URL}/v2/live`,
          headers: { 'x-gladia-key': apiKey },
          body: sessionOf(stream),
          timeoutMs: connectTimeoutMs,
          secrets: [apiKey],
          clock,
          signal,
        });
        const url = textOf(session['url']);
        if (url === null || !/^wss?:/.test(url)) throw failed('gladia', 'its reply has no session URL');
        return gladiaDialect(url);
      },
    },
    options,
  );
}

function sessionOf({ model = 'solaria-1', language, multilingual = false, hints }: SttOptions): object {
  const words = favoured(hints, 100).map(([value, weight]) => ({ value, intensity: intensityOf(weight) }));
  return {
    encoding: 'wav/pcm',
    bit_depth: 16,
    sample_rate: HEARING_RATE_HZ,
    channels: 1,
    model,
    endpointing: ENDPOINTING_S,
    maximum_duration_without_endpointing: 30,
    language_config: {
      languages: language === 'multi' || multilingual ? [] : [codeOf(language)],
      code_switching: multilingual,
    },
    realtime_processing:
      words.length > 0 ? { custom_vocabulary: true, custom_vocabulary_config: { vocabulary: words } } : undefined,
    messages_config: {
      receive_partial_transcripts: true,
      receive_final_transcripts: true,
      receive_errors: true,
      receive_acknowledgments: false,
      receive_lifecycle_events: false,
      receive_speech_events: false,
      receive_pre_processing_events: false,
      receive_realtime_processing_events: false,
      receive_post_processing_events: false,
    },
  };
}

function codeOf(language: string): string {
  const base = baseLanguage(language);
  return CODES[base] ?? base;
}

/** Ours are up to 100, of which 1 is a light nudge and 10 strong; Gladia's 0 to 1, of which 0.5 is usual. */
function intensityOf(weight: number): number {
  return Math.min(1, 0.4 + weight / 25);
}

function gladiaDialect(url: string): SttDialect {
  const keys = new Map<string, number>();
  let lastKey = -1;
  const keyOf = (id: string): number => {
    const key = keys.get(id) ?? (lastKey += 1);
    keys.set(id, key);
    for (const old of [...keys.keys()].slice(0, -32)) keys.delete(old);
    return key;
  };
  return {
    address: { url },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 60,
    audio: (pcm) => pcm,
    finalize: () => [],
    farewell: () => '{"type":"stop_recording"}',
    read: (text, tell) => {
      const message = parseObject(text);
      const type = textOf(message?.['type']);
      if (message === null || type === null) return false;
      if (type === 'error') {
        tell.failed(
          failed('gladia', textOf(objectOf(message['data'])?.['message']) ?? 'it sent an error without a message'),
        );
        return true;
      }
      if (type !== 'transcript') return /^[a-z_]+$/.test(type);
      const data = objectOf(message['data']);
      const utterance = objectOf(data?.['utterance']);
      const id = textOf(data?.['id']);
      const transcript = textOf(utterance?.['text']);
      if (id === null || utterance === null || transcript === null) return false;
      const isFinal = data?.['is_final'] === true;
      const words = objectsOf(utterance['words']).flatMap(readWord);
      tell.piece(keyOf(id), { text: transcript, isFinal, confidence: numberOf(utterance['confidence']), words });
      const endS = numberOf(utterance['end']);
      if (isFinal && endS !== null) tell.finalized(endS * 1000);
      return true;
    },
  };
}

function readWord(word: Readonly<Record<string, unknown>>): VendorWord[] {
  const text = textOf(word['word']);
  const start = numberOf(word['start']);
  const end = numberOf(word['end']);
  if (text === null || start === null || end === null) return [];
  return [{ text: text.trim(), startMs: start * 1000, endMs: end * 1000, confidence: numberOf(word['confidence']) }];
}
