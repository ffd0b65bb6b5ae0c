import type { Engine } from '../../engine/engine.js';
import { atCallerLevel, joinedSpeech } from './caller-level.js';
import type { CallerVoice } from '../suite/suite-schema.js';
import type { CallerAudio, CallerMove } from '../caller/caller.js';

const PROVIDER = 'flite';
const VOICE = 'rms';
/** Of a sentence, also on a machine that is busy with many calls. */
const SPEECH_MS = 120_000;
const PAUSE_MS = 300;

/** The voices of callers. A sentence is spoken once and then kept. */
export class CallerVoices {
  readonly #engine: Engine;
  readonly #signal: AbortSignal;
  readonly #spoken = new Map<string, Promise<CallerAudio>>();
  #queue: Promise<unknown> = Promise.resolve();

  /** @param engine one in real time */
  constructor(engine: Engine, signal: AbortSignal) {
    this.#engine = engine;
    this.#signal = signal;
  }

  /** @throws ParleyError PROVIDER_UNKNOWN, or what the voice cannot say it for */
  async speak(
    { say, pauseMs = PAUSE_MS, mumbled = false }: Extract<CallerMove, { say: string }>,
    voice: CallerVoice,
    language: string,
  ): Promise<CallerAudio> {
    const parts = say
      .split('…')
      .map((part) => part.trim())
      .filter(Boolean);
    const pieces: CallerAudio[] = [];
    for (const part of parts) pieces.push(await this.#part(part, voice, language));
    return atCallerLevel(joinedSpeech(pieces, pauseMs), mumbled);
  }

  #part(text: string, voice: CallerVoice, language: string): Promise<CallerAudio> {
    const key = JSON.stringify([text, voice, language]);
    let speech = this.#spoken.get(key);
    if (speech === undefined) {
      // One after another: a voice counts the time that a sentence waits for others.
      speech = this.#queue.then(() => this.#synthesize(text, voice, language));
      this.#queue = speech.catch(() => undefined);
      this.#spoken.set(key, speech);
    }
    return speech;
  }

  async #synthesize(text: string, voice: CallerVoice, language: string): Promise<CallerAudio> {
    const isDefault = voice.provider === undefined;
    const isEnglish = language.toLowerCase().startsWith('en') || language === 'multi';
    return this.#engine.speech({
      text,
      provider: voice.provider ?? (isEnglish ? PROVIDER : 'espeak-ng'),
      voiceId: voice.voice_id ?? (isDefault && isEnglish ? VOICE : null),
      settings: voice.settings ?? null,
      language,
      signal: AbortSignal.any([this.#signal, AbortSignal.timeout(SPEECH_MS)]),
    });
  }
}
