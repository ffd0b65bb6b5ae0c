import { baseLanguage } from '../../../base/language.js';
import { numberOf, objectOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';

const BASE_URL = 'https://api.openai.com/v1';
const DEFAULT_MODEL = 'gpt-live-transcribe';

/** The only supported rate. */
const RATE_HZ = 24_000;

/** Languages that OpenAI's recognition is good at, by their base. developers.openai.com/api/docs/guides/speech-to-text */
const LANGUAGES = new Set(
  (
    'af ar az be bg bs ca cs cy da de el en es et fa fi fr gl he hi hr hu hy id is it ja kk kn ko lt lv mi mk mr ms ' +
    'multi ne nl no pl pt ro ru sk sl sr sv sw ta th tl tr uk ur vi zh'
  ).split(' '),
);

export const OPENAI_HEARS = (language: string): boolean => LANGUAGES.has(baseLanguage(language));

/** Realtime sessions of the type `transcription`. developers.openai.com/api/docs/guides/realtime-transcription */
export function openAiStt(options: VendorSttOptions): SocketSttProvider {
  return new SocketSttProvider(
    {
      name: 'openai',
      abilities: {
        models: true,
        multilingual: true,
        understands: OPENAI_HEARS,
      },
      dialect: (stream) => openAiDialect(stream, options.baseUrl ?? BASE_URL, options.apiKey ?? ''),
    },
    options,
  );
}

/** The `session` of a transcription session. */
function sessionOf({ model = DEFAULT_MODEL, language, multilingual = false, hints }: SttOptions): object {
  const words = favouredWords(hints, 100);
  const takesKeywords = /^gpt-(live-)?transcribe/.test(model);
  const takesPrompt = !takesKeywords && !model.startsWith('gpt-realtime-whisper') && !model.includes('diarize');
  return {
    type: 'transcription',
    audio: {
      input: {
        format: { type: 'audio/pcm', rate: RATE_HZ },
        transcription: {
          model,
          language: language !== 'multi' && !multilingual ? baseLanguage(language) : undefined,
          keywords: takesKeywords && words.length > 0 ? words : undefined,
          prompt: takesPrompt && words.length > 0 ? words.join(', ') : undefined,
        },
        // Our VAD detects the end of speech.
        turn_detection: null,
      },
    },
  };
}

/** The messages of such a session; the transcription of a conversation's input has the same events. */
export function openAiDialect(options: SttOptions, baseUrl: string, apiKey: string): SttDialect {
  /** Items in the order in which they were begun, and what has been heard of them. */
  const items = new Map<string, { key: number; text: string; done: boolean }>();
  const itemOf = (id: string) => {
    const item = items.get(id) ?? { key: (lastKey += 1), text: '', done: false };
    items.set(id, item);
    // Items of long ago do not come again.
    for (const old of [...items.keys()].slice(0, -32)) items.delete(old);
    return item;
  };
  let lastKey = -1;
  return {
    address: {
      url: socketUrl(baseUrl, '/realtime', new URLSearchParams({ intent: 'transcription' })),
      headers: { authorization: `Bearer ${apiKey}` },
    },
    sampleRateHz: RATE_HZ,
    chunkMs: 40,
    // A buffer is transcribed, and paid for, with all the silence that it was given.
    leadMs: 300,
    waitsForReady: true,
    onePieceEach: true,
    greeting: () => [JSON.stringify({ type: 'session.update', session: sessionOf(options) })],
    audio: (pcm) => JSON.stringify({ type: 'input_audio_buffer.append', audio: pcm.toString('base64') }),
    finalize: () => ['{"type":"input_audio_buffer.commit"}'],
    read: (text, tell) => {
      const message = parseObject(text);
      const type = textOf(message?.['type']);
      if (message === null || type === null) return false;
      const id = textOf(message['item_id']);
      switch (type) {
        case 'session.updated':
          tell.ready();
          return true;
        case 'input_audio_buffer.committed':
          if (id === null) return false;
          itemOf(id);
          return true;
        case 'conversation.item.input_audio_transcription.delta': {
          const delta = textOf(message['delta']);
          if (id === null || delta === null) return false;
          const item = itemOf(id);
          if (item.done) return true;
          item.text += delta;
          tell.piece(item.key, { text: item.text, isFinal: false });
          return true;
        }
        case 'conversation.item.input_audio_transcription.completed': {
          const transcript = textOf(message['transcript']);
          if (id === null || transcript === null) return false;
          const item = itemOf(id);
          if (item.done) return true;
          item.done = true;
          tell.piece(item.key, { text: transcript, isFinal: true });
          tell.finalized();
          return true;
        }
        case 'conversation.item.input_audio_transcription.failed':
          tell.failed(errorOf(objectOf(message['error'])));
          return true;
        case 'error': {
          const error = objectOf(message['error']);
          // Nothing was said that could be transcribed.
          if (error?.['code'] === 'input_audio_buffer_commit_empty') {
            lastKey++;
            tell.finalized();
          } else tell.failed(errorOf(error));
          return true;
        }
        default:
          // The protocol has many events that are of no interest here.
          return /^(session|conversation|input_audio_buffer|rate_limits|response)\b/.test(type);
      }
    },
  };
}

function errorOf(error: Readonly<Record<string, unknown>> | null) {
  const reason = textOf(error?.['message']) ?? 'it sent an error without a message';
  const type = `${textOf(error?.['type']) ?? ''} ${textOf(error?.['code']) ?? ''}`;
  const isPassing = /server_error|rate_limit|timeout|overloaded|unavailable|session_expired/.test(type);
  const status = numberOf(error?.['status']);
  const isRefusal = !isPassing && (status === null || status < 500) && /invalid|quota|not_found|denied/.test(type);
  return isRefusal ? refused('openai', reason) : failed('openai', reason);
}
