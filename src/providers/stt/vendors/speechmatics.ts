import { baseLanguage } from '../../../base/language.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { numberOf, objectOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect, VendorWord } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';

const BASE_URL = 'https://eu2.rt.speechmatics.com';

/** Languages by their base. docs.speechmatics.com/speech-to-text/languages */
const LANGUAGES = new Set(
  (
    'ar ba be bg bn ca cs cy da de el en es et eu fa fi fr ga gl he hi hr hu id it ja ko lt lv mn mr ms mt nl no pl pt ' +
    'ro ru sk sl sv sw ta th tl tr uk ur vi zh'
  ).split(' '),
);

/** Errors that pass: too many sessions at once, a worker that died. */
const PASSING = new Set([
  'quota_exceeded',
  'job_error',
  'idle_timeout',
  'session_timeout',
  'timelimit_exceeded',
  'unknown_error',
]);

/** How a connection is closed that trying again cannot help against: protocol_error, not_authorised, not_allowed, invalid_model. */
const REFUSING_CODES = new Set([1003, 4001, 4003, 4004]);
const BYTES_PER_S = HEARING_RATE_HZ * 2;

/** Real-time API, version 2. docs.speechmatics.com/api-ref/realtime-transcription-websocket */
export function speechmaticsStt(options: VendorSttOptions): SocketSttProvider {
  return new SocketSttProvider(
    {
      name: 'speechmatics',
      abilities: { models: true, understands: (language) => LANGUAGES.has(baseLanguage(language)) },
      dialect: (stream) => speechmaticsDialect(stream, options.baseUrl ?? BASE_URL, options.apiKey ?? ''),
    },
    options,
  );
}

function startOf({ model = 'enhanced', language, hints }: SttOptions): object {
  const words = favouredWords(hints, 1000);
  const locale = /^en-(US|GB|AU)$/.test(language) ? { output_locale: language } : {};
  return {
    message: 'StartRecognition',
    audio_format: { type: 'raw', encoding: 'pcm_s16le', sample_rate: HEARING_RATE_HZ },
    transcription_config: {
      language: languageOf(language),
      model,
      enable_partials: true,
      max_delay: 2,
      max_delay_mode: 'flexible',
      ...locale,
      additional_vocab: words.length > 0 ? words.map((content) => ({ content })) : undefined,
    },
  };
}

/** Mandarin has its own code (ISO 639-3). */
function languageOf(language: string): string {
  const base = baseLanguage(language);
  return base === 'zh' ? 'cmn' : base;
}

function speechmaticsDialect(options: SttOptions, baseUrl: string, apiKey: string): SttDialect {
  let finals = 0;
  let sent = 0;
  let sentBytes = 0;
  return {
    address: {
      url: socketUrl(baseUrl, '/v2', new URLSearchParams()),
      headers: { authorization: `Bearer ${apiKey}` },
    },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 60,
    waitsForReady: true,
    refusingCodes: REFUSING_CODES,
    greeting: () => [JSON.stringify(startOf(options))],
    audio: (pcm) => {
      sent++;
      sentBytes += pcm.length;
      return pcm;
    },
    // Seconds of audio sent: what came in after them is not of this utterance.
    finalize: () => [JSON.stringify({ message: 'ForceEndOfUtterance', timestamp: sentBytes / BYTES_PER_S })],
    farewell: () => JSON.stringify({ message: 'EndOfStream', last_seq_no: sent }),
    read: (text, tell) => {
      const message = parseObject(text);
      const kind = textOf(message?.['message']);
      if (message === null || kind === null) return false;
      switch (kind) {
        case 'RecognitionStarted':
          tell.ready();
          return true;
        case 'AddPartialTranscript':
        case 'AddTranscript': {
          const metadata = objectOf(message['metadata']);
          const transcript = textOf(metadata?.['transcript']);
          if (transcript === null) return false;
          const isFinal = kind === 'AddTranscript';
          // What is final is left out of the partials after it; a final of nothing ends no piece.
          if (isFinal && transcript.trim() === '') return true;
          tell.piece(finals, { text: transcript, isFinal, words: wordsOf(message['results']) });
          if (!isFinal) return true;
          finals++;
          const endS = numberOf(metadata?.['end_time']);
          if (endS !== null) tell.finalized(endS * 1000);
          return true;
        }
        case 'EndOfUtterance':
          tell.finalized();
          return true;
        case 'Error': {
          const type = textOf(message['type']) ?? 'unknown_error';
          const reason = `${type}: ${textOf(message['reason']) ?? ''}`;
          tell.failed(PASSING.has(type) ? failed('speechmatics', reason) : refused('speechmatics', reason));
          return true;
        }
        case 'AudioAdded':
        case 'EndOfTranscript':
        case 'Info':
        case 'Warning':
        case 'AudioEventStarted':
        case 'AudioEventEnded':
          return true;
        default:
          return false;
      }
    },
  };
}

/** Punctuation belongs to the word before it. */
function wordsOf(results: unknown): VendorWord[] {
  const words: VendorWord[] = [];
  for (const result of objectsOf(results)) {
    const best = objectsOf(result['alternatives'])[0];
    const text = textOf(best?.['content']);
    const start = numberOf(result['start_time']);
    const end = numberOf(result['end_time']);
    if (text === null || start === null || end === null) continue;
    const last = words.at(-1);
    if (result['type'] === 'punctuation' && last !== undefined) last.text += text;
    else words.push({ text, startMs: start * 1000, endMs: end * 1000, confidence: numberOf(best?.['confidence']) });
  }
  return words;
}
