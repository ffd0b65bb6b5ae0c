import type { Engine } from '../../engine/engine.js';
import type { CallerVoice } from '../suite/suite-schema.js';
import type { CallerAudio, CallerMove } from '../caller/caller.js';
import { frameSamples, HEARING_RATE_HZ, joinedSamples, msToSamples } from '../../audio/frame.js';
import { dbToGain, levelOf, SILENCE_DBFS } from '../../audio/dsp/level.js';

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

/** Level of the caller's speech, without its pauses. */
export const SPEECH_DBFS = -20;
const MUMBLED_DB = -10;
/** Quieter parts of speech than this below its loudest are pauses. */
const SPEECH_RANGE_DB = 25;
const FULL_SCALE = 32_768;

/** Speech at the caller's level, however loud its voice is, without the silence before and after it. */
export function atCallerLevel({ samples, sampleRateHz }: CallerAudio, mumbled = false): CallerAudio {
  const frame = frameSamples(sampleRateHz);
  const parts = Array.from({ length: Math.ceil(samples.length / frame) }, (_, at) =>
    samples.subarray(at * frame, (at + 1) * frame),
  );
  const levels = parts.map((part) => levelOf(part).rmsDbfs);
  const pauseDbfs = Math.max(...levels) - SPEECH_RANGE_DB;
  let squares = 0;
  let count = 0;
  for (const [index, part] of parts.entries()) {
    if ((levels[index] ?? SILENCE_DBFS) <= Math.max(pauseDbfs, SILENCE_DBFS)) continue;
    for (const sample of part) squares += sample * sample;
    count += part.length;
  }
  if (count === 0) return { samples, sampleRateHz };
  const isSpeech = (level: number): boolean => level > pauseDbfs;
  const spoken = samples.subarray(levels.findIndex(isSpeech) * frame, (levels.findLastIndex(isSpeech) + 1) * frame);
  const target = FULL_SCALE * dbToGain(SPEECH_DBFS + (mumbled ? MUMBLED_DB : 0));
  const gain = target / Math.sqrt(squares / count);
  const scale = (sample: number): number => Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(sample * gain)));
  return { samples: spoken.map(scale), sampleRateHz };
}

/** Pieces of speech with silence between them. */
export function joinedSpeech(pieces: readonly CallerAudio[], pauseMs: number): CallerAudio {
  const sampleRateHz = pieces[0]?.sampleRateHz ?? HEARING_RATE_HZ;
  const pause = new Int16Array(msToSamples(pauseMs, sampleRateHz));
  const parts = pieces.flatMap(({ samples }, index) => (index === 0 ? [samples] : [pause, samples]));
  return { samples: joinedSamples(parts), sampleRateHz };
}
