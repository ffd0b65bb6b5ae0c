import { baseLanguage } from '../../base/language.js';
import { reasonOf } from '../../base/errors.js';
import type { SpeechHints, SttProvider } from '../../providers/stt/stt.js';
import type { TtsProvider } from '../../providers/tts/tts.js';
import { detectLanguage } from './detect-language.js';
import type { Recogniser } from './recogniser.js';
import type { SessionContext } from '../session-context.js';
import type { Voice } from '../speech/voice.js';

/** What hears and speaks a language. */
export interface LanguageProviders {
  stt: SttProvider;
  /** The words to expect in it. */
  hints: SpeechHints;
  tts: TtsProvider;
  voiceId: string | null;
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
}

/** Languages that a session may change to. */
export interface Languages {
  /** What hears and speaks a language; in words, why there is none. */
  find(language: string): Promise<LanguageProviders | { missing: string }>;
  /** Whether the language is the one that the user is found to speak (`multi`). */
  follows: boolean;
}

type LanguageSwitchContext = Pick<SessionContext, 'clock' | 'emit' | 'fault'>;

export interface LanguageSwitchOptions {
  languages: Languages | null;
  /** What is spoken now. */
  current: () => string;
  recogniser: Pick<Recogniser, 'use'>;
  voice: Pick<Voice, 'use'>;
}

/** Changes what a session hears and speaks: when its model asks for it, or when the user is found to speak another language. */
export class LanguageSwitch {
  readonly #context: LanguageSwitchContext;
  readonly #options: LanguageSwitchOptions;
  /** The latest change that was asked for: an earlier one that is found later does nothing. */
  #asked = 0;
  /** Languages that the user spoke and that cannot be had. */
  readonly #missing = new Set<string>();
  #closed = false;

  constructor(context: LanguageSwitchContext, options: LanguageSwitchOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** The model wants another language: the call's `tool.result` tells whether it can be had. */
  switch(callId: string, language: string): void {
    void this.#switch(callId, language);
  }

  /** The user has said something: where the language follows them, it may be another one from now on. */
  heard(text: string): void {
    const { languages, current } = this.#options;
    if (languages?.follows !== true) return;
    const language = detectLanguage(text);
    if (language === null || this.#missing.has(language) || baseLanguage(language) === baseLanguage(current())) return;
    void this.#follow(language);
  }

  /** May be called twice. */
  close(): void {
    this.#closed = true;
  }

  async #switch(callId: string, language: string): Promise<void> {
    const missing = await this.#change(language);
    if (this.#closed) return;
    const content =
      missing === null
        ? `Changed. The user is heard and you are spoken in ${language} from now on: answer in it.`
        : `Not changed: ${missing}. The conversation goes on as it was; tell the user so.`;
    this.#context.emit({ type: 'tool.result', callId, ok: missing === null, content });
  }

  async #follow(language: string): Promise<void> {
    const missing = await this.#change(language);
    if (missing === null || this.#closed) return;
    this.#missing.add(language);
    this.#context.fault('language.missing', missing);
  }

  /** Null = it is spoken now; else why not. */
  async #change(language: string): Promise<string | null> {
    const { clock, emit } = this.#context;
    const { languages, recogniser, voice } = this.#options;
    if (languages === null) return 'this session has one language only';
    const order = ++this.#asked;
    let found: LanguageProviders | { missing: string };
    try {
      // Virtual time stands still meanwhile: it is work of this machine's, and none of the conversation's.
      found = await clock.settle(languages.find(language), clock.nowMs());
    } catch (error) {
      found = { missing: reasonOf(error) };
    }
    if ('missing' in found) return found.missing;
    if (this.#closed || order !== this.#asked) return 'another change came first';
    const { stt, hints, ...spoken } = found;
    recogniser.use({ stt, language, hints });
    voice.use({ ...spoken, language });
    emit({ type: 'language', language });
    return null;
  }
}
