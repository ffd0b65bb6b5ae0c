import type { Clock } from '../../base/clock.js';

/** Text to speech. One vendor a file; the registry names them. */
export interface TtsProvider {
  readonly name: string;
  /** True where the audio depends only on the request and comes at times from a table. */
  readonly virtualTime: boolean;
  /** Whether each voice speaks all the languages that it `speaks`. Default no: each language has voices of its own. */
  readonly multilingual?: boolean;
  /** Whether it tells itself when words are spoken. Default no: they are estimated. */
  readonly wordTimes?: boolean;
  /** Whether it has speech models that can be named. Default no. */
  readonly hasModels?: boolean;
  /**
   * Loads what is needed, or opens connections before they are.
   * @param voice whom it will speak as. Default: the default voice
   * @throws ParleyError PROVIDER_REFUSED where a vendor does not accept its key; what may pass is left to `synthesize`
   */
  warmUp(voice?: TtsVoiceChoice): Promise<void>;
  /**
   * Refuses settings before anything is to be said with them.
   * @throws ParleyError TTS_SETTING_INVALID as `synthesize` would. Left out: it takes all
   */
  checkSettings?(settings: TtsRequest['settings'], voiceId: string | null): void;
  /**
   * Speaks one piece of text (a clause or a sentence). Yields audio as it is made; throws a ParleyError when
   * synthesis fails and the signal's reason when it is aborted. Silence before and after the speech is trimmed.
   */
  synthesize(request: TtsRequest): AsyncIterable<TtsAudio>;
  /** Whether it has a voice for a language. Absent = every voice speaks every language. */
  speaks?(language: string): Promise<boolean>;
  /** The voices this provider has, those for `language` first. */
  voices(): readonly TtsVoice[];
  /**
   * The voices that the operator's account has with the vendor, custom and cloned ones too; what is known of them, where
   * the vendor does not answer soon. Never rejects. Left out: `voices` are all that are known.
   */
  accountVoices?(): Promise<readonly TtsVoice[]>;
  close(): Promise<void>;
}

export interface TtsRequest {
  text: string;
  /** A code of the interface's language list. */
  language: string;
  /** Null = the provider's default voice for the language. */
  voiceId: string | null;
  model: string | null;
  /** The provider's own settings as the agent's configuration gives them. */
  settings: Readonly<Record<string, unknown>>;
  clock: Clock;
  signal: AbortSignal;
  /** It was asked for before, and did not come in time: over another connection, where there are any. Default false. */
  again?: boolean;
}

/** Of a request, who speaks and how. */
export type TtsVoiceChoice = Pick<TtsRequest, 'language' | 'voiceId' | 'model' | 'settings'>;

export interface TtsAudio {
  samples: Int16Array;
  sampleRateHz: number;
  /**
   * Words whose times have become known, in milliseconds from the first sample of this request's audio. Each is given
   * once, in the text's order; words that are not spoken (emoji, mark-up) are given too and take no time.
   */
  words?: readonly TtsWord[];
  /** Who speaks, where that is not who was asked: a stand-in, and its model (null = its default). */
  by?: { provider: string; model: string | null };
}

export interface TtsWord {
  /** As it stands in the request's text, punctuation included, so that the heard text can be cut from it. */
  text: string;
  startMs: number;
  endMs: number;
}

export interface TtsVoice {
  id: string;
  name: string;
  /** A code as the provider writes it; null = not known. */
  language: string | null;
  sampleRateHz: number;
}
