import { encodeWav } from '../audio/wav.js';
import { phrasesFor } from '../conversation/phrases.js';
import type { Engine } from '../engine/engine.js';

/** A voice, as it is spoken. */
export interface SpokenVoice {
  provider: string;
  /** The provider's own name of it. */
  voiceId: string;
  /** Null = the provider's. */
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
  /** What it says is said in this. */
  language: string;
}

/** Previews that are kept, 100 KB or so each; the one that was asked for longest ago goes first. */
const MAX_KEPT = 64;
const TIMEOUT_MS = 10_000;

/** A short sentence in each voice, really spoken by it: once, and kept in memory. */
export class VoicePreviews {
  readonly #engine: Pick<Engine, 'speech'>;
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  constructor(engine: Pick<Engine, 'speech'>) {
    this.#engine = engine;
  }

  /** A WAV file. @throws ParleyError what the voice cannot do it for */
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
      ...{ provider, voiceId, settings, language, text: phrasesFor(language).greeting },
      ...(model !== null && { model }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return encodeWav(samples, sampleRateHz);
  }
}
