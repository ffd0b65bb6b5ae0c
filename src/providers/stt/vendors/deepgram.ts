import { baseLanguage } from '../../../base/language.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { numberOf, objectOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SpeechHints, SttOptions } from '../stt.js';
import type { SttDialect, VendorWord } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';
import { ParleyError } from '../../../base/errors.js';

const BASE_URL = 'https://api.deepgram.com';

/** Languages of nova-3, by their base. developers.deepgram.com/docs/nova-3-language-prompting */
const LANGUAGES = new Set(
  (
    'af ar be bg bn bs ca cs da de el en es et fa fi fr gl gu he hi hr hu id it ja kn ko lt lv mk mr ms multi nl no pl ' +
    'pt ro ru sk sl sr sv ta te th tl tr uk vi xh zh zu'
  ).split(' '),
);

/** Deepgram: nova models, and Flux where the model's name begins so. */
export function deepgramStt(options: VendorSttOptions): SocketSttProvider {
  return new SocketSttProvider(
    {
      name: 'deepgram',
      abilities: {
        models: true,
        multilingual: true,
        understands: (language) =>
          isFlux(options.model ?? '')
            ? FLUX_LANGUAGES.has(baseLanguage(language))
            : LANGUAGES.has(baseLanguage(language)),
      },
      dialect: (stream) => {
        const headers = { authorization: `Token ${options.apiKey ?? ''}` };
        const access = { baseUrl: options.baseUrl ?? BASE_URL, headers };
        return isFlux(stream.model ?? '') ? fluxDialect(stream, access) : novaDialect(stream, access);
      },
    },
    options,
  );
}

/**
 * Live streaming of nova models: interim results, `Finalize` where our VAD hears the end of speech.
 * developers.deepgram.com/reference/speech-to-text/listen-streaming
 */
function novaDialect(
  options: SttOptions,
  access: { baseUrl: string; headers: Readonly<Record<string, string>> },
): SttDialect {
  const model = options.model ?? 'nova-3';
  const query = new URLSearchParams({
    model,
    encoding: 'linear16',
    sample_rate: String(HEARING_RATE_HZ),
    channels: '1',
    language: languageOf(options),
    interim_results: 'true',
    punctuate: 'true',
    smart_format: 'true',
    // Our VAD detects the end of speech; Deepgram's would cut pieces at every breath.
    endpointing: 'false',
    no_delay: 'true',
  });
  // nova-3 takes terms without weights. Older models take words with exponents that boost or suppress them.
  // developers.deepgram.com/docs/keywords
  if (model.startsWith('nova-3')) for (const word of favouredWords(options.hints, 90)) query.append('keyterm', word);
  else {
    for (const [word, weight] of weighted(options.hints, 100)) query.append('keywords', `${word}:${String(weight)}`);
  }
  let finals = 0;
  return {
    address: { url: socketUrl(access.baseUrl, '/v1/listen', query), headers: access.headers },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 40,
    audio: (pcm) => pcm,
    finalize: () => ['{"type":"Finalize"}'],
    farewell: () => '{"type":"CloseStream"}',
    // It closes a connection that has had nothing for 10 s.
    keepAlive: { afterMs: 4000, message: () => '{"type":"KeepAlive"}' },
    read: (text, tell) => {
      const message = parseObject(text);
      switch (message?.['type']) {
        case 'Results': {
          const best = objectsOf(objectOf(message['channel'])?.['alternatives'])[0];
          const transcript = textOf(best?.['transcript']);
          const start = numberOf(message['start']);
          const duration = numberOf(message['duration']);
          if (best === undefined || transcript === null || start === null || duration === null) return false;
          const isFinal = message['is_final'] === true;
          const words = objectsOf(best['words'])
            .map(readWord)
            .filter((word) => word !== null);
          tell.piece(finals, { text: transcript, isFinal, confidence: numberOf(best['confidence']), words });
          if (!isFinal) return true;
          finals++;
          tell.finalized((start + duration) * 1000);
          if (message['from_finalize'] === true) tell.finalized();
          return true;
        }
        case 'Metadata':
        case 'SpeechStarted':
        case 'UtteranceEnd':
        case 'Warning':
          return true;
        case 'Error':
          tell.failed(
            failed(
              'deepgram',
              textOf(message['description']) ?? textOf(message['message']) ?? 'it sent an error without a message',
            ),
          );
          return true;
        default:
          return false;
      }
    },
  };
}

/** The strongest weights, also those below 0. Beyond 10 a word is heard everywhere. */
function weighted({ keywords }: SpeechHints, most: number): [word: string, weight: number][] {
  return [...keywords]
    .filter(([word, weight]) => weight !== 0 && word.trim() !== '')
    .toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a))
    .slice(0, most)
    .map(([word, weight]) => [word, Math.max(-10, Math.min(10, weight))]);
}

/** Deepgram's code of a language; `multi` if several may be spoken. */
function languageOf({ language, multilingual = false }: SttOptions): string {
  if (multilingual || language === 'multi') return 'multi';
  // Deepgram uses the same codes, but only these regional ones.
  const known = /^(en-(US|AU|GB|IN|NZ)|es-419|fr-CA|pt-BR|nl-BE|de-CH|zh-TW)$/;
  return known.test(language) ? language : baseLanguage(language);
}

function readWord(word: Readonly<Record<string, unknown>>): VendorWord | null {
  const text = textOf(word['punctuated_word']) ?? textOf(word['word']);
  const start = numberOf(word['start']);
  const end = numberOf(word['end']);
  if (text === null || start === null || end === null) return null;
  return { text, startMs: start * 1000, endMs: end * 1000, confidence: numberOf(word['confidence']) };
}

/** Languages of flux-general-multi, by their base; English is flux-general-en's too. */
export const FLUX_LANGUAGES: ReadonlySet<string> = new Set('en es de fr hi it ja nl pt ru multi'.split(' '));

/** Confidence from which Flux reports a probable and a certain end of turn. */
const EAGER_THRESHOLD = 0.5;
const THRESHOLD = 0.7;
/** Time for Flux's own end of turn after our VAD's end of speech, before ours is forced. */
const FORCE_AFTER_MS = 250;
/** Error codes that a retry cannot clear. */
const REFUSING = /BAD_REQUEST|INVALID|UNAUTHORIZED|FORBIDDEN|UNPARSABLE|UNSUPPORTED|NOT_FOUND/;

export function isFlux(model: string): boolean {
  return model.startsWith('flux');
}

/**
 * Flux, whose model detects the end of a turn: its `EagerEndOfTurn` and `EndOfTurn` make the transcript final, and its
 * confidence goes to the conversation, which decides. If it keeps waiting while the user is silent, `ForceEndTurn` ends
 * the turn. developers.deepgram.com/docs/flux/state, /docs/flux/force-end-turn
 */
export function fluxDialect(
  options: SttOptions,
  access: { baseUrl: string; headers: Readonly<Record<string, string>> },
): SttDialect {
  const base = baseLanguage(options.language);
  const known = options.model?.endsWith('-en') === true ? new Set(['en']) : FLUX_LANGUAGES;
  if (!known.has(base)) {
    throw new ParleyError('STT_LANGUAGE_UNSUPPORTED', {
      provider: `Deepgram's model "${options.model ?? 'flux'}"`,
      language: options.language,
      supported: [...known].join(', '),
    });
  }
  const isMulti = options.language === 'multi' || options.multilingual === true;
  const named = options.model ?? 'flux';
  const isEnglish = base === 'en' && !isMulti;
  const model = named === 'flux' ? `flux-general-${isEnglish ? 'en' : 'multi'}` : named;
  const query = new URLSearchParams({
    model,
    encoding: 'linear16',
    sample_rate: String(HEARING_RATE_HZ),
    eager_eot_threshold: String(EAGER_THRESHOLD),
    eot_threshold: String(THRESHOLD),
    eot_timeout_ms: '5000',
  });
  if (model.endsWith('multi') && !isMulti) query.append('language_hint', base);
  for (const word of favouredWords(options.hints, 90)) query.append('keyterm', word);
  return {
    address: { url: socketUrl(access.baseUrl, '/v2/listen', query), headers: access.headers },
    sampleRateHz: HEARING_RATE_HZ,
    // Deepgram's recommendation for Flux.
    chunkMs: 80,
    waitsForReady: true,
    finalizeAfterMs: FORCE_AFTER_MS,
    audio: (pcm) => pcm,
    finalize: () => ['{"type":"ForceEndTurn"}'],
    farewell: () => '{"type":"CloseStream"}',
    read: (text, tell) => {
      const message = parseObject(text);
      switch (message?.['type']) {
        case 'Connected':
          tell.ready();
          return true;
        case 'TurnInfo': {
          const turn = numberOf(message['turn_index']);
          const transcript = textOf(message['transcript']);
          const endS = numberOf(message['audio_window_end']);
          if (turn === null || transcript === null || endS === null) return false;
          const event = message['event'];
          const isOver = event === 'EndOfTurn' || event === 'EagerEndOfTurn';
          const words = objectsOf(message['words'])
            .map(readWord)
            .filter((word) => word !== null);
          if (event === 'TurnResumed') tell.reopened();
          tell.piece(turn, { text: transcript, isFinal: isOver, words });
          const confidence = numberOf(message['end_of_turn_confidence']);
          // The confidence is meaningless for a turn that we or a timeout ended.
          const isModels = event === 'EagerEndOfTurn' || message['trigger'] === 'model';
          if (isOver && isModels && confidence !== null) tell.turnEnds(Math.min(1, Math.max(0, confidence)));
          if (isOver) tell.finalized(endS * 1000);
          if (event === 'EndOfTurn' && message['trigger'] === 'manual') tell.finalized();
          return true;
        }
        case 'Error': {
          const reason =
            textOf(message['description']) ?? textOf(message['code']) ?? 'it sent an error without a message';
          const isRefusal = REFUSING.test(textOf(message['code']) ?? '');
          tell.failed(isRefusal ? refused('deepgram', reason) : failed('deepgram', reason));
          return true;
        }
        case 'ConfigureSuccess':
        case 'ConfigureFailure':
          return true;
        default:
          return false;
      }
    },
  };
}
