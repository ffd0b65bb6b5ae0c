import type { Clock } from '../../../base/clock.js';
import { waitAtMost } from '../../../base/deadlines.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError } from '../../../base/errors.js';
import { AccountVoices, type VoiceListing } from './account-voices.js';
import { speakRemotely, type SpeechPiece } from './remote-speech.js';
import { SpeechConnection } from './speech-connection.js';
import type { TtsDialect } from './dialect.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice } from '../tts.js';
import { checkedSettings, type SettingSpecs, languageCode, type VendorVoiceSettings } from './vendor-voice-settings.js';

export interface SocketTtsOptions {
  name: string;
  protocol: TtsDialect;
  settings: SettingSpecs;
  /** Keys to redact. */
  secrets: readonly string[];
  /** Voices to list; the vendor's other voices can be named too. */
  voices: readonly TtsVoice[];
  /** How to list the account's voices. Absent: not supported. */
  listing?: VoiceListing;
  /** Base languages, such as `en`. Default: all. */
  languages?: readonly string[];
  /** Whether each voice supports all of them. Default: only if it names none. */
  multilingual?: boolean;
  /** Whether the protocol reports word times. Default false. */
  wordTimes?: boolean;
  /** Default true. */
  hasModels?: boolean;
  /** Timeout for connecting. Default 5000 ms. */
  connectTimeoutMs?: number;
  /** Timeout from a request to its first audio. Default 8000 ms. */
  firstAudioMs?: number;
  /** Timeout between two pieces of audio. Default 5000 ms. */
  gapMs?: number;
  /** Idle timeout of connections. Default 300,000 ms. */
  idleMs?: number;
  /** Clock for connections; requests bring their own. Default: real time. */
  clock?: Clock;
}

/** Longest time that a session waits for a connection before it begins. */
const WARM_UP_MS = 1500;
const DEFAULT_LANGUAGE = 'en-US';

/**
 * A vendor's voices over its WebSocket. Keeps a pool of connections, opened by `warmUp` and shared by all sessions
 * whose voice has the same address. If a pooled connection turns out to be dead, the utterance is retried once.
 */
export class SocketTts implements TtsProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly hasModels: boolean;
  readonly wordTimes: boolean;
  readonly multilingual: boolean;
  readonly #options: Required<
    Omit<SocketTtsOptions, 'name' | 'hasModels' | 'wordTimes' | 'multilingual' | 'languages' | 'listing'>
  >;
  readonly #languages: readonly string[] | undefined;
  readonly #account: AccountVoices | null;
  readonly #connections = new Map<string, Set<SpeechConnection>>();
  #closed = false;
  speaks?: (language: string) => Promise<boolean>;
  accountVoices?: () => Promise<readonly TtsVoice[]>;

  constructor(options: SocketTtsOptions) {
    this.name = options.name;
    this.hasModels = options.hasModels ?? true;
    this.wordTimes = options.wordTimes ?? false;
    this.multilingual = options.multilingual ?? options.languages === undefined;
    this.#languages = options.languages;
    this.#options = {
      connectTimeoutMs: 5000,
      firstAudioMs: 8000,
      gapMs: 5000,
      idleMs: 300_000,
      clock: new RealClock(),
      ...options,
    };
    const { listing } = options;
    const { clock, protocol } = this.#options;
    const { sampleRateHz } = protocol;
    const account = listing && new AccountVoices({ provider: this.name, listing, sampleRateHz, clock });
    this.#account = account ?? null;
    if (account !== undefined) this.accountVoices = () => account.list();
    const languages = this.#languages;
    if (languages !== undefined) {
      this.speaks = (language) => Promise.resolve(languages.includes(languageCode(language) ?? 'en'));
    }
  }

  async warmUp(choice: Partial<TtsVoiceChoice> = {}): Promise<void> {
    const { clock } = this.#options;
    const connection = this.#free(this.#voiceOf({ ...NO_CHOICE, ...choice }));
    const error = await waitAtMost(clock, WARM_UP_MS, connection.ready);
    if (error instanceof ParleyError && !error.retryable) throw error;
  }

  /** @throws ParleyError TTS_SETTING_INVALID */
  checkSettings(settings: TtsRequest['settings']): void {
    checkedSettings(this.name, this.#options.settings, settings);
  }

  /** @throws ParleyError TTS_SETTING_INVALID, PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT, SESSION_CLOSED */
  async *synthesize(request: TtsRequest): AsyncGenerator<TtsAudio> {
    const { protocol, firstAudioMs, gapMs } = this.#options;
    const voice = this.#voiceOf(request);
    yield* speakRemotely(request, {
      provider: this.name,
      sampleRateHz: protocol.sampleRateHz,
      firstAudioMs,
      gapMs,
      pieces: (text, signal) => this.#pieces(text, voice, signal, request.again === true),
    });
  }

  voices(): readonly TtsVoice[] {
    return this.#options.voices;
  }

  /** Aborts all utterances. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#connections.values()].flatMap((some) => [...some]);
    await Promise.all([...all.map((connection) => connection.close()), this.#account?.close()]);
  }

  async *#pieces(
    text: string,
    voice: VendorVoiceSettings,
    signal: AbortSignal,
    wasLate: boolean,
  ): AsyncGenerator<SpeechPiece> {
    if (wasLate) for (const one of this.#connections.get(this.#keyOf(voice)) ?? []) one.retireIfMute();
    for (let isAgain = wasLate; ; isAgain = true) {
      const connection = isAgain ? this.#dial(voice) : this.#free(voice);
      const wasOpen = connection.isOpen;
      let begun = false;
      try {
        for await (const piece of connection.speak(text, voice, signal)) {
          begun = true;
          yield piece;
        }
        return;
      } catch (error) {
        const mayPass = error instanceof ParleyError && error.code === 'PROVIDER_FAILED' && connection.isOver;
        if (begun || isAgain || !wasOpen || !mayPass || signal.aborted) throw error;
      }
    }
  }

  /** Prefers an open connection to one that is connecting, and opens a new one if all are busy. */
  #free(voice: VendorVoiceSettings): SpeechConnection {
    const some = this.#connections.get(this.#keyOf(voice)) ?? [];
    const free = [...some].filter(({ isFree }) => isFree);
    return free.find(({ isOpen }) => isOpen) ?? free[0] ?? this.#dial(voice);
  }

  #dial(voice: VendorVoiceSettings): SpeechConnection {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    const { protocol, secrets, clock, connectTimeoutMs, idleMs } = this.#options;
    const key = this.#keyOf(voice);
    const siblings = this.#connections.get(key) ?? new Set();
    this.#connections.set(key, siblings);
    const connection = new SpeechConnection({
      provider: this.name,
      protocol,
      voice,
      secrets,
      clock,
      connectTimeoutMs,
      idleMs,
      onOver: (over) => {
        siblings.delete(over);
        if (siblings.size === 0) this.#connections.delete(key);
      },
    });
    siblings.add(connection);
    return connection;
  }

  /** Voices with the same key share connections. */
  #keyOf(voice: VendorVoiceSettings): string {
    const { protocol } = this.#options;
    return JSON.stringify([protocol.address(voice), protocol.bound?.(voice)]);
  }

  #voiceOf({ voiceId, model, language, settings }: TtsVoiceChoice): VendorVoiceSettings {
    return { voiceId, model, language, settings: checkedSettings(this.name, this.#options.settings, settings) };
  }
}

const NO_CHOICE: TtsVoiceChoice = { language: DEFAULT_LANGUAGE, voiceId: null, model: null, settings: {} };
