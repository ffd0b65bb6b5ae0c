import { baseLanguage } from '../../../base/language.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { numberOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect, VendorWord } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';

const BASE_URL = 'https://api.elevenlabs.io';
const DEFAULT_MODEL = 'scribe_v2_realtime';

/** Errors that trying again cannot help against. */
const REFUSING = new Set(['auth_error', 'quota_exceeded', 'unaccepted_terms', 'input_error', 'invalid_request']);
const PASSING = new Set([
  'error',
  'rate_limited',
  'queue_overflow',
  'resource_exhausted',
  'session_time_limit_exceeded',
  'transcriber_error',
  'chunk_size_exceeded',
  'insufficient_audio_activity',
]);

/** Scribe in real time, committed by our own VAD. elevenlabs.io/docs/api-reference/speech-to-text/v-1-speech-to-text-realtime */
export function elevenLabsStt(options: VendorSttOptions): SocketSttProvider {
  return new SocketSttProvider(
    {
      name: 'elevenlabs',
      // It understands some 90 languages, and finds out which one is spoken where none is named.
      abilities: { models: true, multilingual: true },
      dialect: (stream) => elevenLabsDialect(stream, options.baseUrl ?? BASE_URL, options.apiKey ?? ''),
    },
    options,
  );
}

function elevenLabsDialect(options: SttOptions, baseUrl: string, apiKey: string): SttDialect {
  const { model = DEFAULT_MODEL, language, multilingual = false, hints } = options;
  const query = new URLSearchParams({
    model_id: model,
    audio_format: 'pcm_16000',
    commit_strategy: 'manual',
    include_timestamps: 'true',
  });
  if (language !== 'multi' && !multilingual) query.set('language_code', baseLanguage(language));
  for (const word of favouredWords(hints, 50, 20)) query.append('keyterms', word);
  const chunk = (pcm: Buffer, commit: boolean): string =>
    JSON.stringify({
      message_type: 'input_audio_chunk',
      audio_base_64: pcm.toString('base64'),
      commit,
      sample_rate: HEARING_RATE_HZ,
    });
  let commits = 0;
  return {
    address: {
      url: socketUrl(baseUrl, '/v1/speech-to-text/realtime', query),
      headers: { 'xi-api-key': apiKey },
    },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 100,
    // Silence would be committed, and paid for, with the next speech.
    leadMs: 300,
    waitsForReady: true,
    onePieceEach: true,
    audio: (pcm) => chunk(pcm, false),
    finalize: () => [chunk(Buffer.alloc(0), true)],
    read: (text, tell) => {
      const message = parseObject(text);
      const type = textOf(message?.['message_type']);
      const said = textOf(message?.['text']);
      switch (type) {
        case 'session_started':
          tell.ready();
          return true;
        case 'partial_transcript':
          if (said === null) return false;
          tell.piece(commits, { text: said, isFinal: false });
          return true;
        case 'committed_transcript':
          if (said === null) return false;
          tell.piece(commits++, { text: said, isFinal: true });
          tell.finalized();
          return true;
        case 'committed_transcript_with_timestamps': {
          if (said === null) return false;
          // Follows the transcript, and adds only the times.
          const words = objectsOf(message?.['words']).flatMap(readWord);
          tell.piece(commits - 1, { text: said, isFinal: true, words });
          return true;
        }
        case 'commit_throttled':
          // There was next to nothing to commit.
          commits++;
          tell.finalized();
          return true;
        case 'final_transcript':
        case 'final_transcript_with_timestamps':
          return true;
        case null:
          return false;
        default: {
          const reason = `${type}: ${textOf(message?.['error']) ?? ''}`;
          if (REFUSING.has(type)) tell.failed(refused('elevenlabs', reason));
          else if (PASSING.has(type)) tell.failed(failed('elevenlabs', reason));
          else return false;
          return true;
        }
      }
    },
  };
}

function readWord(word: Readonly<Record<string, unknown>>): VendorWord[] {
  const text = textOf(word['text']);
  const start = numberOf(word['start']);
  const end = numberOf(word['end']);
  if (word['type'] === 'spacing' || text === null || start === null || end === null) return [];
  return [{ text, startMs: start * 1000, endMs: end * 1000, confidence: null }];
}
