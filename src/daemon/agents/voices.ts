import { InvalidConfigError } from '../../schema/issues.js';
import type { Language } from '../../agent/language.js';
import type { Engine } from '../../engine/engine.js';
import type { EngineVoice } from '../../engine/options.js';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { StoredVoice, VoiceStore } from '../../store/voices.js';
import type { AgentRegistry, HostedAgent } from './agents.js';
import { placedFault } from './check-agent.js';
import { encodeWav } from '../../audio/files/wav.js';
import { phrasesFor } from '../../conversation/language/phrases.js';
import type { PronunciationSettings } from '../../agent/extensions/pronunciation.js';
import { readMarkup } from '../../base/speech-markup.js';
import { spokenText } from '../../providers/tts/text/speakable.js';
import { speechWords } from '../../providers/tts/text/spoken-words.js';

/** The parameters of a preview. */
export interface SpokenVoice {
  provider: string;
  /** The provider's id of the voice. */
  voiceId: string;
  /** Null = the provider's. */
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
  /** The language of the sentence. */
  language: string;
}

/** Size of the cache of previews, about 100 KB each. The least recently used is dropped. */
const MAX_KEPT = 64;
const TIMEOUT_MS = 10_000;

/** Short sentences in each voice, synthesised once and cached in memory. */
export class VoicePreviews {
  readonly #engine: Pick<Engine, 'speech'>;
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  constructor(engine: Pick<Engine, 'speech'>) {
    this.#engine = engine;
  }

  /** A WAV file. @throws ParleyError the error of the synthesis */
  wav(voice: SpokenVoice): Promise<Uint8Array> {
    const key = JSON.stringify(voice);
    const made = this.#kept.get(key) ?? this.#make(voice);
    this.#kept.delete(key);
    this.#kept.set(key, made);
    made.catch(() => {
      if (this.#kept.get(key) === made) this.#kept.delete(key);
    });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return made;
  }

  async #make({ provider, voiceId, model, settings, language }: SpokenVoice): Promise<Uint8Array> {
    const { samples, sampleRateHz } = await this.#engine.speech({
      provider,
      voiceId,
      settings,
      language,
      text: phrasesFor(language).greeting,
      model,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return encodeWav(samples, sampleRateHz);
  }
}

export interface VoicesOptions {
  engine: Engine;
  store: VoiceStore;
  agents: Pick<AgentRegistry, 'reachable'>;
  /** The language of voices that state none, and the provider of agents that name none. */
  defaults: { language: Language; provider: string };
  nowUnixMs: () => number;
}

/** A voice that agents can name. */
export interface NameableVoice {
  provider: string;
  voiceId: string;
  name: string;
  /** In the provider's notation; null = unknown. */
  language: string | null;
  /** Null = a voice of the provider. */
  custom: StoredVoice | null;
}

/** A text to be said, with its mark-up. */
export interface TextToSay {
  text: string;
  /** Null = the operator's. */
  provider: string | null;
  /** Null = the provider's default voice of the language. */
  voiceId: string | null;
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
  language: string | null;
  pronunciation: PronunciationSettings | null;
  /** Whether it is synthesised. */
  isHeard: boolean;
}

/** The request for a custom voice. */
export type NewVoice = Omit<StoredVoice, 'createdAt'>;

/** The voices that agents can name: voices of providers and custom voices. */
export class Voices {
  readonly #options: VoicesOptions;
  readonly #previews: VoicePreviews;

  constructor(options: VoicesOptions) {
    this.#options = options;
    this.#previews = new VoicePreviews(options.engine);
  }

  /** All voices, custom ones first. A custom voice replaces a provider's voice with the same name. */
  async all(): Promise<NameableVoice[]> {
    const { engine, store } = this.#options;
    const own = await engine.voices();
    const custom = store.list().map((voice) => ({
      provider: voice.provider,
      voiceId: voice.voiceId,
      name: voice.name,
      custom: voice,
      language: voice.language ?? ownOf(own, voice)?.language ?? null,
    }));
    const others = own.filter(({ provider, id }) => store.find(provider, id) === null);
    return [
      ...custom,
      ...others.map(({ provider, id, name, language }) => ({ provider, voiceId: id, name, language, custom: null })),
    ];
  }

  /** In the order of creation. */
  custom(): readonly StoredVoice[] {
    return this.#options.store.list();
  }

  /**
   * Synthesises a sentence with a custom voice, then adds the voice or changes the one with its name.
   * @throws InvalidConfigError naming what the provider refuses; ParleyError PROVIDER_…
   */
  async add(voice: NewVoice): Promise<StoredVoice> {
    const { engine, store, nowUnixMs } = this.#options;
    const { provider, voiceId, baseVoiceId, model, settings } = voice;
    try {
      await engine.checkAgent({ agent: { voice: { provider, voice_id: baseVoiceId, model, settings } } });
      await this.#previews.wav(await this.#spoken(voice));
    } catch (error) {
      throw faultOf(error, voice);
    }
    if (voiceId !== baseVoiceId && ownOf(await engine.voices(), { provider, baseVoiceId: voiceId }) !== undefined) {
      const msg = `${provider} has a voice ${voiceId}; choose another name`;
      throw new InvalidConfigError([{ loc: ['body', 'voice_id'], msg, type: 'value_error' }]);
    }
    return store.put({ ...voice, createdAt: unixSeconds(nowUnixMs()) });
  }

  /** @throws ParleyError NOT_FOUND, VOICE_IN_USE if an agent needs it */
  async remove(provider: string, voiceId: string): Promise<void> {
    const { store, agents, defaults } = this.#options;
    const voice = store.find(provider, voiceId);
    if (voice === null) throw new ParleyError('NOT_FOUND', { what: 'custom voice', id: `${provider}/${voiceId}` });
    const names = ({ config: { voice: named } }: HostedAgent): boolean =>
      named?.voice_id === voiceId && (named.provider ?? defaults.provider) === provider;
    const agent = voice.baseVoiceId === voiceId ? undefined : (await agents.reachable()).find(names);
    if (agent !== undefined) throw new ParleyError('VOICE_IN_USE', { voice: voiceId, agent: agent.id });
    await store.remove(provider, voiceId);
  }

  /**
   * What is shown of a text, what a voice that takes no phonemes is given, and how it sounds, as a WAV file.
   * @throws ParleyError PROVIDER_UNKNOWN, TTS_…, PROVIDER_…
   */
  async say(asked: TextToSay): Promise<{ text: string; spoken: string; wav: Uint8Array | null }> {
    const { engine, store, defaults } = this.#options;
    const { pronunciation, model } = asked;
    const provider = asked.provider ?? defaults.provider;
    const custom = asked.voiceId === null ? null : store.find(provider, asked.voiceId);
    const language = asked.language ?? custom?.language ?? defaults.language;
    const { text, spans } = readMarkup(asked.text);
    const spoken = spokenText(speechWords({ text, spans, language, pronunciation }, false));
    if (!asked.isHeard || spoken === '') return { text, spoken, wav: null };
    const { samples, sampleRateHz } = await engine.speech({
      text: asked.text,
      provider,
      language,
      pronunciation,
      voiceId: custom?.baseVoiceId ?? asked.voiceId,
      model: model ?? custom?.model ?? null,
      settings: { ...custom?.settings, ...asked.settings },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { text, spoken, wav: encodeWav(samples, sampleRateHz) };
  }

  /** A spoken sample as a WAV file. @throws ParleyError PROVIDER_UNKNOWN, TTS_…, PROVIDER_… */
  async preview(provider: string, voiceId: string): Promise<Uint8Array> {
    const custom = this.#options.store.find(provider, voiceId);
    const plain = { provider, baseVoiceId: voiceId, model: null, settings: {}, language: null };
    return this.#previews.wav(await this.#spoken(custom ?? plain));
  }

  async #spoken(
    voice: Pick<StoredVoice, 'provider' | 'baseVoiceId' | 'model' | 'settings' | 'language'>,
  ): Promise<SpokenVoice> {
    const { engine, defaults } = this.#options;
    const { provider, baseVoiceId: voiceId, model, settings } = voice;
    const own = voice.language === null ? ownOf(await engine.voices(), voice) : undefined;
    return { provider, voiceId, model, settings, language: voice.language ?? own?.language ?? defaults.language };
  }
}

function ownOf(
  voices: readonly EngineVoice[],
  { provider, baseVoiceId }: Pick<StoredVoice, 'provider' | 'baseVoiceId'>,
): EngineVoice | undefined {
  return voices.find((own) => own.provider === provider && own.id === baseVoiceId);
}

/** The error with its place in the request, if the provider refuses the voice. */
function faultOf(error: unknown, { voiceId, baseVoiceId }: NewVoice): unknown {
  const isProvider = error instanceof ParleyError && error.code === 'TTS_ENGINE_MISSING';
  if (!(error instanceof ParleyError) || (error.httpStatus !== 422 && !isProvider)) return error;
  const { issues } = placedFault(error, { config: ['body'] });
  const placed = issues.map(({ loc, ...issue }) => {
    const [body = 'body', , ...inner] = loc[1] === 'voice' ? loc : ['body', 'voice', ...loc.slice(1)];
    const isBase = inner[0] === 'voice_id' && voiceId !== baseVoiceId;
    return { loc: isBase ? [body, 'base_voice_id'] : [body, ...inner], ...issue };
  });
  return new InvalidConfigError(placed);
}
