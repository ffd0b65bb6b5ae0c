import { availableParallelism } from 'node:os';
import { ParleyError } from '../../../base/errors.js';
import { pronounceEnglish } from '../text/english.js';
import { FlitePool, type FlitePoolStats } from './flite-pool.js';
import { speak, FLITE_LATENCY, parseVoiceSettings, type VoiceSettings } from '../speech.js';
import {
  DEFAULT_FLITE_VOICE,
  FIXED_PITCH_VOICES,
  FLITE_VOICES,
  PITCHED_FLITE_VOICE,
  type FliteVoiceId,
  isFliteVoice,
  speaksEnglish,
} from './voices.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice } from '../tts.js';

export interface FliteOptions {
  /** Threads that synthesise, 1 to the machine's cores. Default 1: one speaks some fifty times faster than real time. */
  workers?: number;
  /** The longest wait for the next piece of audio, queueing included, in milliseconds. Default 5000. */
  timeoutMs?: number;
  /** The threads' code. Default the package's own; tests put a faulty one here. */
  workerEntry?: URL;
}

/**
 * The embedded voice: CMU Flite as WebAssembly in worker threads. English only. Needs no key, no network and no
 * program on the machine. Word times are the engine's own.
 */
export class FliteTts implements TtsProvider {
  readonly name = 'flite';
  readonly virtualTime = true;
  readonly wordTimes = true;
  readonly #pool: FlitePool;
  readonly #timeoutMs: number;

  constructor(options: FliteOptions = {}) {
    const workers = Math.max(1, Math.min(options.workers ?? 1, availableParallelism()));
    this.#pool = new FlitePool(workers, options.workerEntry);
    this.#timeoutMs = options.timeoutMs ?? 5000;
  }

  get stats(): FlitePoolStats {
    return this.#pool.stats;
  }

  /** Starts the threads, and speaks once in each default voice so that the first call finds compiled code. */
  async warmUp(): Promise<void> {
    await this.#pool.warmUp();
    const warm = { text: 'Good morning, how may I help you?', voice: DEFAULT_FLITE_VOICE, rate: 1, pitch: 1 };
    const runs = Array.from({ length: this.#pool.stats.workers }, async () => {
      for await (const _ of this.#pool.speak(warm));
    });
    await Promise.all(runs);
  }

  /**
   * @throws ParleyError TTS_VOICE_UNKNOWN, TTS_SETTING_INVALID, TTS_LANGUAGE_UNSUPPORTED, PROVIDER_FAILED,
   * PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  synthesize(request: TtsRequest): AsyncIterable<TtsAudio> {
    const settings = this.checkSettings(request.settings, request.voiceId);
    const voice = voiceOf(request, settings);
    const language = speaksEnglish(request.language) && request.language !== 'multi' ? request.language : 'en-US';
    return speak({ ...request, language }, settings, {
      provider: this.name,
      latency: FLITE_LATENCY[voice],
      timeoutMs: this.#timeoutMs,
      pronounce: pronounceEnglish,
      speakClause: (text) => this.#pool.speak({ text, voice, rate: settings.rate, pitch: settings.pitch }),
    });
  }

  speaks(language: string): Promise<boolean> {
    return Promise.resolve(speaksEnglish(language));
  }

  /** @throws ParleyError TTS_SETTING_INVALID, TTS_VOICE_UNKNOWN */
  checkSettings(given: TtsRequest['settings'], voiceId: string | null): VoiceSettings {
    const settings = parseVoiceSettings(this.name, given);
    const voice = voiceId === null ? defaultVoice(settings) : known(voiceId);
    if (settings.pitch !== 1 && FIXED_PITCH_VOICES.has(voice)) {
      const reason = `the voice ${voice} has one pitch only`;
      throw new ParleyError('TTS_SETTING_INVALID', { provider: this.name, setting: 'pitch', reason });
    }
    return settings;
  }

  voices(): readonly TtsVoice[] {
    return FLITE_VOICES;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

function defaultVoice({ pitch }: VoiceSettings): FliteVoiceId {
  return pitch === 1 ? DEFAULT_FLITE_VOICE : PITCHED_FLITE_VOICE;
}

function voiceOf({ voiceId, language }: TtsRequest, settings: VoiceSettings): FliteVoiceId {
  if (!speaksEnglish(language)) {
    throw new ParleyError('TTS_LANGUAGE_UNSUPPORTED', { language, reason: 'flite speaks English only' });
  }
  return voiceId === null ? defaultVoice(settings) : known(voiceId);
}

function known(voiceId: string): FliteVoiceId {
  if (isFliteVoice(voiceId)) return voiceId;
  const names = FLITE_VOICES.map((voice) => voice.id).join(', ');
  throw new ParleyError('TTS_VOICE_UNKNOWN', { provider: 'flite', voice: voiceId.slice(0, 100), known: names });
}
