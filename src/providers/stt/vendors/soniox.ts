import { baseLanguage } from '../../../base/language.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { numberOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { statusError } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect, VendorWord } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';

const BASE_URL = 'https://stt-rt.soniox.com';
const DEFAULT_MODEL = 'stt-rt-v5';

/** Languages by their base. soniox.com/docs/stt/concepts/supported-languages */
const LANGUAGES = new Set(
  (
    'af sq ar az eu be bn bs bg ca zh hr cs da nl en et fi fr gl de el gu he hi hu id it ja kn kk ko lv lt mk ms ml mr ' +
    'no fa pl pt pa ro ru sr sk sl es sw sv tl ta te th tr uk ur vi cy multi'
  ).split(' '),
);

/** Tokens that are marks and no words: the answer to `finalize`, and the end that Soniox finds itself. */
const FINALIZED = '<fin>';
const MARKS = new Set([FINALIZED, '<end>']);

/** Real-time transcription, finalised by our own VAD. soniox.com/docs/api-reference/stt/websocket-api */
export function sonioxStt(options: VendorSttOptions): SocketSttProvider {
  return new SocketSttProvider(
    {
      name: 'soniox',
      abilities: {
        models: true,
        multilingual: true,
        understands: (language) => LANGUAGES.has(baseLanguage(language)),
      },
      dialect: (stream) => sonioxDialect(stream, options.baseUrl ?? BASE_URL, options.apiKey ?? ''),
    },
    options,
  );
}

function startOf({ model = DEFAULT_MODEL, language, multilingual = false, hints }: SttOptions): object {
  const terms = favouredWords(hints, 200);
  return {
    model,
    audio_format: 'pcm_s16le',
    sample_rate: HEARING_RATE_HZ,
    num_channels: 1,
    language_hints: language === 'multi' ? undefined : [baseLanguage(language)],
    language_hints_strict: language !== 'multi' && !multilingual ? true : undefined,
    context: terms.length > 0 ? { terms } : undefined,
    enable_endpoint_detection: false,
  };
}

function sonioxDialect(options: SttOptions, baseUrl: string, apiKey: string): SttDialect {
  let key = 0;
  /** Tokens of the piece that will not change. */
  let final: Token[] = [];
  return {
    address: {
      url: socketUrl(baseUrl, '/transcribe-websocket', new URLSearchParams()),
      headers: { authorization: `Bearer ${apiKey}` },
    },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 60,
    greeting: () => [JSON.stringify(startOf(options))],
    audio: (pcm) => pcm,
    // With the silence known, it adds that much less of its own.
    finalize: (silenceMs) => [JSON.stringify({ type: 'finalize', trailing_silence_ms: Math.round(silenceMs) })],
    // An empty message ends the stream.
    farewell: () => '',
    keepAlive: { afterMs: 5000, message: () => '{"type":"keepalive"}' },
    read: (text, tell) => {
      const message = parseObject(text);
      const status = numberOf(message?.['error_code']);
      if (message === null) return false;
      if (status !== null) {
        tell.failed(statusError('soniox', status, textOf(message['error_message']) ?? ''));
        return true;
      }
      if (!Array.isArray(message['tokens'])) return message['finished'] === true;
      const tokens = objectsOf(message['tokens'])
        .map(readToken)
        .filter((token) => token !== null);
      final.push(...tokens.filter((token) => token.isFinal && !MARKS.has(token.text)));
      const open = tokens.filter((token) => !token.isFinal);
      const isDone = tokens.some((token) => token.text === FINALIZED);
      const heard = [...final, ...open];
      if (heard.length > 0) {
        const isFinal = isDone && open.length === 0;
        tell.piece(key, { text: heard.map((token) => token.text).join(''), isFinal, words: wordsOf(heard) });
      }
      if (!isDone) return true;
      if (final.length > 0) key++;
      final = [];
      tell.finalized();
      return true;
    },
  };
}

interface Token extends VendorWord {
  isFinal: boolean;
}

function readToken(token: Readonly<Record<string, unknown>>): Token | null {
  const text = textOf(token['text']);
  if (text === null) return null;
  return {
    text,
    isFinal: token['is_final'] === true,
    startMs: numberOf(token['start_ms']) ?? -1,
    endMs: numberOf(token['end_ms']) ?? -1,
    confidence: numberOf(token['confidence']),
  };
}

/** Tokens are parts of words; a word begins with a space. Nothing where a token has no times. */
function wordsOf(tokens: readonly Token[]): VendorWord[] {
  const words: VendorWord[] = [];
  for (const token of tokens) {
    if (token.startMs < 0 || token.endMs < 0) return [];
    const last = words.at(-1);
    if (last === undefined || token.text.startsWith(' ')) {
      const { startMs, endMs, confidence } = token;
      words.push({ text: token.text.trim(), startMs, endMs, confidence });
    } else {
      last.text += token.text;
      last.endMs = token.endMs;
    }
  }
  return words;
}
