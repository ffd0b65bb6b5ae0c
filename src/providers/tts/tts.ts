import type { PronunciationSettings } from '../../agent/extensions/pronunciation.js';
import type { Clock } from '../../base/clock.js';
import { readMarkup, type SpeechSpan } from '../../base/speech-markup.js';
import type { ProviderOutcome } from '../outcome.js';

/** Text to speech. */
export interface TtsProvider {
  readonly name: string;
  /** Whether the audio depends only on the request and its latency comes from a table. */
  readonly virtualTime: boolean;
  /** Whether it calls `onOutcome` of a request itself, because it combines several providers. Default false. */
  readonly tellsOutcomes?: boolean;
  /** Whether each voice supports all languages of `speaks`. Default no: each language has its own voices. */
  readonly multilingual?: boolean;
  /** Whether the engine reports word times. Default no: they are estimated. */
  readonly wordTimes?: boolean;
  /** Whether it has a choice of speech models. Default no. */
  readonly hasModels?: boolean;
  /**
   * Loads what is needed, or opens connections in advance.
   * @param voice the voice to prepare. Default: the default voice
   * @throws ParleyError PROVIDER_REFUSED if a vendor rejects its key; transient errors are left to `synthesize`
   */
  warmUp(voice?: TtsVoiceChoice): Promise<void>;
  /**
   * Validates settings in advance.
   * @throws ParleyError TTS_SETTING_INVALID as `synthesize` would. Absent: accepts everything
   */
  checkSettings?(settings: TtsRequest['settings'], voiceId: string | null): void;
  /**
   * Synthesises one piece of text (a clause or a sentence). Yields audio as it is produced; throws a ParleyError on
   * failure and the signal's reason when it is aborted. Silence before and after the speech is trimmed.
   */
  synthesize(request: TtsRequest): AsyncIterable<TtsAudio>;
  /** Whether it has a voice for a language. Absent = every voice supports every language. */
  speaks?(language: string): Promise<boolean>;
  /** The provider's voices, those for `language` first. */
  voices(): readonly TtsVoice[];
  /**
   * The voices of the operator's account with the vendor, including custom and cloned ones; the known ones if the
   * vendor does not answer soon. Never rejects. Absent: `voices` lists them all.
   */
  accountVoices?(): Promise<readonly TtsVoice[]>;
  close(): Promise<void>;
}

export interface TtsRequest {
  /** Without mark-up for speech. */
  text: string;
  /** How parts of the text are to be said. Default: as they are written. */
  spans?: readonly SpeechSpan[];
  /** A code of the interface's language list. */
  language: string;
  /** Null = the provider's default voice for the language. */
  voiceId: string | null;
  model: string | null;
  /** The provider-specific settings of the agent's configuration. */
  settings: Readonly<Record<string, unknown>>;
  /** How the agent says its words. Default: as the voice does. */
  pronunciation?: PronunciationSettings | null;
  clock: Clock;
  signal: AbortSignal;
  /** A retry of a request that timed out: use another connection, if there is one. Default false. */
  again?: boolean;
  /** Called by those that set `tellsOutcomes`, for each provider that was asked. */
  onOutcome?: (outcome: ProviderOutcome) => void;
}

/** The voice options of a request. */
export type TtsVoiceChoice = Pick<TtsRequest, 'language' | 'voiceId' | 'model' | 'settings' | 'pronunciation'>;

export interface TtsAudio {
  samples: Int16Array;
  sampleRateHz: number;
  /**
   * Words with their times, in milliseconds from the first sample of this request's audio. Each is reported once, in
   * the text's order; unspoken words (emoji, mark-up) too, with no duration.
   */
  words?: readonly TtsWord[];
  /** The provider and model that spoke, if it was a fallback (null = its default model). */
  by?: { provider: string; model: string | null };
}

export interface TtsWord {
  /** As in the request's text, punctuation included, so that the heard text can be cut from it. */
  text: string;
  startMs: number;
  endMs: number;
}

export interface TtsVoice {
  id: string;
  name: string;
  /** A code in the provider's notation; null = unknown. */
  language: string | null;
  sampleRateHz: number;
}

/** Silence left after a spoken sentence and after a clause, in milliseconds, between utterances and within one. */
export const SENTENCE_PAUSE_MS = 180;
export const CLAUSE_PAUSE_MS = 60;

const PAUSE_RATE_HZ = 16_000;

/**
 * Speaks a text with mark-up: the provider gets the text without it, and pauses are silence of their exact length, with
 * any voice. Words and times are those of the text without mark-up.
 * @throws ParleyError as `TtsProvider.synthesize`
 */
export async function* speakMarked(provider: TtsProvider, request: TtsRequest): AsyncGenerator<TtsAudio> {
  const { text, spans, pauses } = readMarkup(request.text);
  if (pauses.length === 0) {
    yield* provider.synthesize(spans.length === 0 ? { ...request, text } : { ...request, text, spans });
    return;
  }
  let doneMs = 0;
  let rateHz = PAUSE_RATE_HZ;
  let from = 0;
  for (const { at, ms } of [...pauses, { at: text.length, ms: 0 }]) {
    const part = text.slice(from, at);
    if (/[\p{L}\p{N}]/u.test(part)) {
      const start = from;
      const own = spans
        .filter((span) => span.start < at && span.end > start)
        .map((span) => ({ ...span, start: Math.max(0, span.start - start), end: Math.min(at, span.end) - start }));
      let partMs = 0;
      for await (const audio of provider.synthesize({ ...request, text: part, spans: own })) {
        const offsetMs = doneMs;
        const words = audio.words?.map((word) => ({
          ...word,
          startMs: word.startMs + offsetMs,
          endMs: word.endMs + offsetMs,
        }));
        rateHz = audio.sampleRateHz;
        partMs += (audio.samples.length * 1000) / rateHz;
        yield words === undefined ? audio : { ...audio, words };
      }
      doneMs += partMs;
    }
    from = at;
    if (ms === 0) continue;
    request.signal.throwIfAborted();
    const samples = new Int16Array(Math.round((ms * rateHz) / 1000));
    doneMs += (samples.length * 1000) / rateHz;
    yield { samples, sampleRateHz: rateHz };
  }
}
