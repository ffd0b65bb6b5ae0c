import { baseLanguage } from '../../base/language.js';
import { reasonOf } from '../../base/errors.js';
import type { SpeechHints, SttProvider } from '../../providers/stt/stt.js';
import type { TtsProvider } from '../../providers/tts/tts.js';
import { detectLanguage } from './detect-language.js';
import type { Recogniser } from './recogniser.js';
import type { SessionContext } from '../session-context.js';
import type { Voice } from '../speech/voice.js';

/** The providers for a language. */
export interface LanguageProviders {
  stt: SttProvider;
  /** Hints for the recogniser. */
  hints: SpeechHints;
  tts: TtsProvider;
  voiceId: string | null;
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
}

/** The languages that a session may change to. */
export interface Languages {
  /** The providers of a language, or the reason why there are none. */
  find(language: string): Promise<LanguageProviders | { missing: string }>;
  /** Whether the language follows the user's (`multi`). */
  follows: boolean;
}

type LanguageSwitchContext = Pick<SessionContext, 'clock' | 'emit' | 'fault'>;

export interface LanguageSwitchOptions {
  languages: Languages | null;
  /** The current language. */
  current: () => string;
  recogniser: Pick<Recogniser, 'use'>;
  voice: Pick<Voice, 'use'>;
}

/**
 * Changes the language that a session recognises and speaks: when its model requests it, or when the user speaks
 * another language.
 */
export class LanguageSwitch {
  readonly #context: LanguageSwitchContext;
  readonly #options: LanguageSwitchOptions;
  /** The latest change; an earlier one that completes later has no effect. */
  #asked = 0;
  /** Languages that the user spoke and that are not available. */
  readonly #missing = new Set<string>();
  #closed = false;

  constructor(context: LanguageSwitchContext, options: LanguageSwitchOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** The model requests another language: the call's `tool.result` says whether it is available. */
  switch(callId: string, language: string): void {
    void this.#switch(callId, language);
  }

  /** The user has spoken: if the language follows theirs, it may change now. */
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

  /** Null = the language is active; otherwise why not. */
  async #change(language: string): Promise<string | null> {
    const { clock, emit } = this.#context;
    const { languages, recogniser, voice } = this.#options;
    if (languages === null) return 'this session has one language only';
    const order = ++this.#asked;
    let found: LanguageProviders | { missing: string };
    try {
      // Virtual time stands still meanwhile: this is work of the machine, not of the conversation.
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
