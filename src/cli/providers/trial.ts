import { Resampler } from '../../audio/dsp/resample.js';
import { FRAME_MS, frameSamples, HEARING_RATE_HZ, samplesToMs } from '../../audio/frame.js';
import { type Clock, delay } from '../../base/clock.js';
import { RealClock } from '../../base/real-clock.js';
import type { ModelRoutes } from '../../settings/models.js';
import type { VendorName, Vendors } from '../../settings/vendor-settings.js';
import { Deadlines } from '../../providers/deadlines.js';
import type { LocalModels } from '../../providers/local/local-models.js';
import { llmRegistry } from '../../providers/llm/registry.js';
import { STT_ENTRIES, sttProvider } from '../../providers/stt/registry.js';
import type { SttStream, SttTranscript } from '../../providers/stt/stt.js';
import { TTS_ENTRIES, ttsProvider } from '../../providers/tts/registry.js';
import { FliteTts } from '../../providers/tts/flite/flite.js';
import type { SpeechModel } from '../../providers/llm/llm.js';

/** What is spoken and recognised. */
export const SENTENCE = 'We have a table for two at seven o’clock this evening.';
const PROMPT = 'Confirm in one short sentence what the user says.';
/** Timeout for transcript and answer. */
const ANSWER_MS = 15_000;

/** One turn with a speech-to-speech model: sends a spoken sentence and times the answer. */
export async function tryConversing(
  speech: SpeechModel,
  model: string,
  { language, voiceId, signal }: Pick<TrialOptions, 'language' | 'voiceId' | 'signal'>,
  note: Note,
): Promise<void> {
  const sentence = await spokenSentence(signal);
  const clock = new RealClock();
  const deadlines = new Deadlines(clock, speech.voiceProvider, signal);
  const session = speech.open(model, { voiceId, settings: {} });
  try {
    const startMs = clock.nowMs();
    const got: { words: { text: string; atMs: number } | null; error: Error | null } = { words: null, error: null };
    const stream = await session.stt.open(
      { language, hints: { phrases: [], texts: [], keywords: new Map() }, clock, signal: deadlines.signal },
      {
        onTranscript: ({ text, isFinal }) => {
          if (isFinal) got.words = { text, atMs: clock.nowMs() };
        },
        onError: (error) => (got.error = error),
      },
    );
    note('connection and session', clock.nowMs() - startMs);
    await say(stream, sentence, signal);
    const endMs = clock.nowMs();
    const messages = [
      { role: 'system', content: PROMPT },
      { role: 'user', content: '' },
    ] as const;
    let [text, audioMs] = ['', 0];
    deadlines.within(ANSWER_MS);
    const request = { model, messages, tools: [], temperature: 0, clock, signal: deadlines.signal };
    for await (const piece of session.llm.complete(request)) {
      if (piece.type === 'usage') {
        note('tokens', `${String(piece.promptTokens)} in, ${String(piece.completionTokens)} out`);
        const { promptTokens = 0, completionTokens = 0 } = piece.audio ?? {};
        note('audio tokens', `${String(promptTokens)} in, ${String(completionTokens)} out`);
      }
      if (piece.type !== 'voice') continue;
      text += piece.text;
      if (piece.audio === null) continue;
      if (audioMs === 0) note('first audio, after speech', clock.nowMs() - endMs);
      audioMs += samplesToMs(piece.audio.samples.length, piece.audio.sampleRateHz);
    }
    note('complete', clock.nowMs() - endMs);
    note('length of the speech', audioMs);
    note('answered', text.slice(0, 200));
    while (got.words === null && got.error === null && !deadlines.signal.aborted) await delay(clock, FRAME_MS, signal);
    if (got.error !== null) throw got.error;
    const heard = got.words;
    note('words, after speech', heard === null ? 'none' : heard.atMs - endMs);
    note('heard', heard?.text ?? '');
    note('spoken', SENTENCE);
    await stream.close();
  } finally {
    deadlines.end();
    await session.close();
  }
}

/** The sentence, spoken by the embedded voice at the sample rate of recognisers. */
async function spokenSentence(signal: AbortSignal): Promise<Int16Array> {
  const voice = new FliteTts();
  try {
    const clock = new RealClock();
    const parts: Int16Array[] = [];
    let resampler: Resampler | null = null;
    const request = { text: SENTENCE, language: 'en-US', voiceId: null, model: null, settings: {}, clock, signal };
    for await (const { samples, sampleRateHz } of voice.synthesize(request)) {
      resampler ??= new Resampler(sampleRateHz, HEARING_RATE_HZ);
      parts.push(resampler.process(samples).slice());
    }
    return Int16Array.from(parts.flatMap((part) => [...part]));
  } finally {
    await voice.close();
  }
}

/** Pushes samples in frames, in real time. */
async function say(stream: SttStream, samples: Int16Array, signal: AbortSignal): Promise<void> {
  const clock = new RealClock();
  const startMs = clock.nowMs();
  const frame = frameSamples(HEARING_RATE_HZ);
  for (let at = 0; at < samples.length; at += frame) {
    stream.push(samples.slice(at, at + frame), at);
    if (at === 0) stream.speechStarted(0);
    await delay(clock, Math.max(0, startMs + samplesToMs(at + frame, HEARING_RATE_HZ) - clock.nowMs()), signal);
  }
  stream.speechStopped(samples.length);
}

export interface TrialOptions {
  vendors: Vendors;
  models: ModelRoutes;
  local: LocalModels;
  voiceId: string | null;
  /** The provider's speech model; null = its default. */
  model: string | null;
  language: string;
  /** What is spoken. Default: an English sentence. */
  sentence?: string;
  signal: AbortSignal;
}

/** Reports a measurement, in milliseconds, or an observation. */
export type Note = (fact: string, value: number | string) => void;

/** A real round trip through one provider. Throws the provider's error. */
export interface ProviderTrial {
  kind: 'stt' | 'llm' | 'tts';
  name: string;
  /** The vendor whose key and address it uses; null = the model's own, or none. */
  vendor: VendorName | null;
  run: (note: Note) => Promise<void>;
}

const QUESTION = 'Reply with the single word: ready';
/** Timeout for a transcript. */
const FINAL_MS = 10_000;
/** The silence that follows on the line. */
const SILENCE_MS = 100;

/** The providers and language models with a name. */
export function trialsOf(name: string, options: TrialOptions): ProviderTrial[] {
  const recognisers = STT_ENTRIES.filter((entry) => entry.name === name);
  const voices = TTS_ENTRIES.filter((entry) => entry.name === name);
  return [
    ...recognisers.map(({ vendor }): ProviderTrial => ({
      kind: 'stt',
      name,
      vendor,
      run: async (note) => void (await tryHearing(name, options, note)),
    })),
    ...modelsOf(name, options).map((id): ProviderTrial => {
      return { kind: 'llm', name: id, vendor: null, run: (note) => tryThinking(id, options, note) };
    }),
    ...voices.map(({ vendor }): ProviderTrial => {
      return { kind: 'tts', name, vendor, run: async (note) => void (await trySpeaking(name, options, note)) };
    }),
  ];
}

/** The id itself, or the first one that the named adapter serves. */
function modelsOf(name: string, { models }: TrialOptions): string[] {
  if (models.has(name)) return [name];
  const first = [...models].find(([, route]) => route.provider === name);
  return first === undefined ? [] : [first[0]];
}

/** Speaks the sentence. @returns it at the sample rate of recognisers */
export async function trySpeaking(name: string, options: TrialOptions, note: Note): Promise<Int16Array> {
  const { vendors, local, voiceId, model, language, signal } = options;
  const provider = ttsProvider(name, vendors, local);
  const clock = new RealClock();
  try {
    const voice = { voiceId, model, language, settings: {} };
    let startMs = clock.nowMs();
    await provider.warmUp(voice);
    note('warm-up', clock.nowMs() - startMs);
    startMs = clock.nowMs();
    let [audioMs, words, isFirst] = [0, 0, true];
    const parts: Int16Array[] = [];
    let resampler: Resampler | null = null;
    for await (const audio of provider.synthesize({ ...voice, text: options.sentence ?? SENTENCE, clock, signal })) {
      if (isFirst) note('first audio', clock.nowMs() - startMs);
      isFirst = false;
      audioMs += samplesToMs(audio.samples.length, audio.sampleRateHz);
      words += audio.words?.length ?? 0;
      resampler ??= new Resampler(audio.sampleRateHz, HEARING_RATE_HZ);
      parts.push(resampler.process(audio.samples).slice());
    }
    note('all of it', clock.nowMs() - startMs);
    note('length of the speech', audioMs);
    note('words with times', `${String(words)}, ${provider.wordTimes === true ? "the vendor's" : 'estimated'}`);
    return Int16Array.from(parts.flatMap((part) => [...part]));
  } finally {
    await provider.close();
  }
}

/**
 * Recognises the sentence, as `speech` or as the embedded voice says it. @returns what was heard
 */
export async function tryHearing(
  name: string,
  options: TrialOptions,
  note: Note,
  given: Int16Array | null = null,
): Promise<string> {
  const { vendors, local, model, language, signal } = options;
  const speech = given ?? (await spokenSentence(signal));
  const provider = sttProvider(name, vendors, local);
  const clock = new RealClock();
  const deadlines = new Deadlines(clock, name, signal);
  try {
    let startMs = clock.nowMs();
    await provider.warmUp();
    const got = new Transcripts(clock);
    const hints = { phrases: [options.sentence ?? SENTENCE], texts: [], keywords: new Map() };
    const request = { language, hints, clock, signal };
    const stream = await provider.open(model === null ? request : { ...request, model }, got);
    note('warm-up and opening', clock.nowMs() - startMs);
    try {
      startMs = clock.nowMs();
      const frame = frameSamples(HEARING_RATE_HZ);
      const silence = (ms: number): Int16Array => new Int16Array((HEARING_RATE_HZ * ms) / 1000);
      const line = Int16Array.from([...silence(SILENCE_MS), ...speech]);
      const spokenFrom = (SILENCE_MS * HEARING_RATE_HZ) / 1000;
      let at = 0;
      let hasBegun = false;
      const push = async (samples: Int16Array): Promise<void> => {
        stream.push(samples, at);
        at += samples.length;
        await delay(clock, Math.max(0, startMs + samplesToMs(at, HEARING_RATE_HZ) - clock.nowMs()), signal);
      };
      while (at < line.length && got.error === null) {
        await push(line.slice(at, at + frame));
        if (!hasBegun && at > spokenFrom) stream.speechStarted(spokenFrom);
        hasBegun ||= at > spokenFrom;
      }
      const endMs = clock.nowMs();
      stream.speechStopped(line.length);
      deadlines.within(FINAL_MS);
      while (!got.isComplete && !deadlines.signal.aborted) await push(silence(FRAME_MS));
      if (got.error !== null) throw got.error;
      if (got.firstMs !== null) note('first words, from the start', got.firstMs - startMs);
      deadlines.signal.throwIfAborted();
      note('final, after the end of speech', (got.finalMs ?? endMs) - endMs);
      note('heard', got.text);
      note('spoken', options.sentence ?? SENTENCE);
      return got.text;
    } finally {
      await stream.close();
    }
  } finally {
    deadlines.end();
    await provider.close();
  }
}

/** The transcripts of a recogniser. */
class Transcripts {
  readonly #clock: Clock;
  readonly #segments = new Map<number, SttTranscript>();
  error: Error | null = null;
  firstMs: number | null = null;
  finalMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get text(): string {
    return [...this.#segments.values()].map(({ text }) => text).join(' ');
  }

  /** Whether the end of the sentence is recognised. */
  get isComplete(): boolean {
    const last = [...this.#segments.values()].at(-1);
    return this.error !== null || (last?.isFinal === true && /evening/i.test(this.text)) || this.#isLate;
  }

  /** Whether nothing has followed the last final transcript for a while, whatever its words. */
  get #isLate(): boolean {
    return this.finalMs !== null && this.#clock.nowMs() - this.finalMs > 1500;
  }

  readonly onTranscript = (transcript: SttTranscript): void => {
    this.#segments.set(transcript.segment, transcript);
    if (transcript.text !== '') this.firstMs ??= this.#clock.nowMs();
    if (transcript.isFinal) this.finalMs = this.#clock.nowMs();
  };

  readonly onError = (error: Error): void => {
    this.error = error;
  };
}

/** Asks the language model. */
export async function tryThinking(model: string, options: TrialOptions, note: Note): Promise<void> {
  const { models, signal } = options;
  const registry = llmRegistry(models);
  const clock = new RealClock();
  try {
    const provider = registry.resolve(model);
    if (provider.speech !== undefined) {
      await tryConversing(provider.speech, model, options, note);
      return;
    }
    let startMs = clock.nowMs();
    await provider.warmUp();
    note('warm-up', clock.nowMs() - startMs);
    startMs = clock.nowMs();
    const request = { model, messages: [{ role: 'user', content: QUESTION } as const], tools: [], temperature: 0 };
    let text = '';
    for await (const piece of provider.complete({ ...request, clock, signal })) {
      if (piece.type === 'text' && text === '') note('first token', clock.nowMs() - startMs);
      if (piece.type === 'text') text += piece.text;
      if (piece.type === 'usage')
        note('tokens', `${String(piece.promptTokens)} in, ${String(piece.completionTokens)} out`);
    }
    note('all of it', clock.nowMs() - startMs);
    note('answered', text.slice(0, 200));
  } finally {
    await registry.close();
  }
}
