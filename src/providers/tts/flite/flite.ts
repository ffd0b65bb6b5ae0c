import { availableParallelism } from 'node:os';
import { ParleyError } from '../../../base/errors.js';
import { pronounceEnglish } from '../text/english.js';
import { FlitePool, type FlitePoolStats } from './flite-pool.js';
import { FLITE_LATENCY } from '../latency.js';
import { parseVoiceSettings, type VoiceSettings } from '../settings.js';
import { speak } from '../speech.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice } from '../tts.js';

/**
 * The voices inside flite. `slt`, `rms` and `awb` are statistical (Clustergen) voices: muffled but human. `kal` and
 * `kal16` are diphone voices: buzzing, but clear and fast.
 */
export const FLITE_VOICES = [
  { id: 'slt', name: 'SLT, US English, female', language: 'en-US', sampleRateHz: 16_000 },
  { id: 'rms', name: 'RMS, US English, male', language: 'en-US', sampleRateHz: 16_000 },
  { id: 'awb', name: 'AWB, Scottish English, male', language: 'en-GB', sampleRateHz: 16_000 },
  { id: 'kal16', name: 'KAL, US English, male, diphone', language: 'en-US', sampleRateHz: 16_000 },
  { id: 'kal', name: 'KAL, US English, male, diphone, telephone band', language: 'en-US', sampleRateHz: 8_000 },
] as const satisfies readonly TtsVoice[];

export type FliteVoiceId = (typeof FLITE_VOICES)[number]['id'];

/** Human-like, and its first audio is out long before anybody could notice (see docs/providers.md). */
export const DEFAULT_FLITE_VOICE: FliteVoiceId = 'slt';

/** Their melody comes from a model of its own (SPAM), which flite has no setting for. */
export const FIXED_PITCH_VOICES: ReadonlySet<FliteVoiceId> = new Set<FliteVoiceId>(['rms']);

export function isFliteVoice(id: string): id is FliteVoiceId {
  return FLITE_VOICES.some((voice) => voice.id === id);
}

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
    const voice = voiceOf(request);
    const settings = this.checkSettings(request.settings, voice);
    return speak(request, settings, {
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
    const voice = voiceId === null ? DEFAULT_FLITE_VOICE : known(voiceId);
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

function voiceOf({ voiceId, language }: TtsRequest): FliteVoiceId {
  if (!speaksEnglish(language)) {
    throw new ParleyError('TTS_LANGUAGE_UNSUPPORTED', { language, reason: 'flite speaks English only' });
  }
  return voiceId === null ? DEFAULT_FLITE_VOICE : known(voiceId);
}

function known(voiceId: string): FliteVoiceId {
  if (isFliteVoice(voiceId)) return voiceId;
  const names = FLITE_VOICES.map((voice) => voice.id).join(', ');
  throw new ParleyError('TTS_VOICE_UNKNOWN', { provider: 'flite', voice: voiceId.slice(0, 100), known: names });
}

/** English in all its kinds; `multi` (the user's language, not yet known) starts in English. */
export function speaksEnglish(language: string): boolean {
  return language === 'en' || language.startsWith('en-') || language === 'multi';
}
