import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { baseLanguage } from '../../../base/language.js';
import { ParleyError } from '../../../base/errors.js';
import { numberOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect, VendorWord } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';

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

function readWord(word: Readonly<Record<string, unknown>>): VendorWord | null {
  const text = textOf(word['word']);
  const start = numberOf(word['start']);
  const end = numberOf(word['end']);
  if (text === null || start === null || end === null) return null;
  return { text, startMs: start * 1000, endMs: end * 1000, confidence: numberOf(word['confidence']) };
}
