import { baseLanguage } from '../../../base/language.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { numberOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect, VendorWord } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';

const BASE_URL = 'https://streaming.assemblyai.com';

/** Languages of universal-streaming-multilingual. */
const LANGUAGES = new Set('en es fr de it pt multi'.split(' '));

/** Close codes of a wrong key, an empty account, a feature that is not paid for, a wrong request. */
const REFUSING_CODES = new Set([3006, 4000, 4001, 4002, 4003, 4101]);

/**
 * Streaming, version 3: Universal-Streaming and Universal-3. assemblyai.com/docs/streaming/message-sequence and
 * …/docs/streaming/universal-3-pro/u3-pro-message-sequence.
 */
export function assemblyAiStt(options: VendorSttOptions): SocketSttProvider {
  return new SocketSttProvider(
    {
      name: 'assemblyai',
      abilities: {
        models: true,
        multilingual: true,
        understands: (language) => LANGUAGES.has(baseLanguage(language)),
      },
      dialect: (stream) => assemblyAiDialect(stream, options.baseUrl ?? BASE_URL, options.apiKey ?? ''),
    },
    options,
  );
}

function assemblyAiDialect(options: SttOptions, baseUrl: string, apiKey: string): SttDialect {
  const { language, multilingual = false, hints } = options;
  const isEnglish = baseLanguage(language) === 'en' && !multilingual;
  const model = options.model ?? `universal-streaming-${isEnglish ? 'english' : 'multilingual'}`;
  const query = new URLSearchParams({
    speech_model: model,
    sample_rate: String(HEARING_RATE_HZ),
    encoding: 'pcm_s16le',
  });
  // Version 3 formats what it says in any case.
  query.set(/^(u3|universal-3)/.test(model) ? 'continuous_partials' : 'format_turns', 'true');
  const keyterms = favouredWords(hints, 100, 50);
  if (keyterms.length > 0) query.set('keyterms_prompt', JSON.stringify(keyterms));
  let lastEnded = -1;
  return {
    address: { url: socketUrl(baseUrl, '/v3/ws', query), headers: { authorization: apiKey } },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 50,
    // It refuses messages of less than 50 ms of audio.
    minChunkMs: 50,
    waitsForReady: true,
    refusingCodes: REFUSING_CODES,
    audio: (pcm) => pcm,
    finalize: () => ['{"type":"ForceEndpoint"}'],
    farewell: () => '{"type":"Terminate"}',
    read: (text, tell) => {
      const message = parseObject(text);
      switch (message?.['type']) {
        case 'Begin':
          tell.ready();
          return true;
        case 'Turn': {
          const turn = numberOf(message['turn_order']);
          const transcript = textOf(message['transcript']);
          if (turn === null || transcript === null) return false;
          const isFinal = message['end_of_turn'] === true;
          const words = objectsOf(message['words'])
            .map(readWord)
            .filter((word) => word !== null);
          // The transcript holds final words only; the others are among the words.
          const said = isFinal || words.length === 0 ? transcript : words.map((word) => word.text).join(' ');
          tell.piece(turn, { text: said, isFinal, words });
          // Universal-Streaming repeats the end with punctuation; Universal-3 has it at once.
          if (!isFinal || turn <= lastEnded) return true;
          lastEnded = turn;
          const confidence = numberOf(message['end_of_turn_confidence']);
          // A turn that we ended has no confidence in its end.
          if (confidence !== null && confidence > 0) tell.turnEnds(Math.min(1, confidence));
          tell.finalized(words.at(-1)?.endMs ?? 0);
          tell.finalized();
          return true;
        }
        case 'Error': {
          const reason = textOf(message['error']) ?? 'it sent an error without a message';
          const isRefusal = REFUSING_CODES.has(numberOf(message['error_code']) ?? 0);
          tell.failed(isRefusal ? refused('assemblyai', reason) : failed('assemblyai', reason));
          return true;
        }
        case 'Termination':
        case 'SpeechStarted':
        case 'Warning':
        case 'Heartbeat':
        case 'Silence':
          return true;
        default:
          return false;
      }
    },
  };
}

function readWord(word: Readonly<Record<string, unknown>>): VendorWord | null {
  const text = textOf(word['text']);
  const startMs = numberOf(word['start']);
  const endMs = numberOf(word['end']);
  if (text === null || startMs === null || endMs === null) return null;
  return { text, startMs, endMs, confidence: numberOf(word['confidence']) };
}
