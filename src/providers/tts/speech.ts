import { samplesToMs } from '../../audio/frame.js';
import { mix } from '../../audio/dsp/mix.js';
import { Deadlines } from '../deadlines.js';
import { raceAbort } from '../../base/deadlines.js';
import { splitClauses } from './text/clauses.js';
import { spokenText, type SpokenWord } from './text/speakable.js';
import { speechWords, withoutPhonemes } from './text/spoken-words.js';
import { estimateWordTimes, type WordTime } from './timing.js';
import { SilenceTrimmer } from './trim.js';
import type { TtsAudio, TtsRequest, TtsWord } from './tts.js';
import type { FliteVoiceId } from './flite/voices.js';
import { ParleyError } from '../../base/errors.js';

/** An engine's audio. Block boundaries must depend only on the clause. */
export interface EngineAudio {
  samples: Int16Array;
  sampleRateHz: number;
  /** With the first block, from engines that know: when each piece of the clause between spaces is spoken. */
  tokens?: readonly WordTime[];
}

/** What differs between the embedded engines. */
export interface SpeechEngine {
  provider: string;
  latency: TtsLatency;
  /** The longest wait for the next block of audio, queueing included. */
  timeoutMs: number;
  /** Whether `speakClause` reads phonemes (`withPhonemes`). Default false. */
  takesPhonemes?: boolean;
  /** What to say for a word; '' for nothing. */
  pronounce(word: string): string;
  /** Starts speaking one clause. Leaving the iterator ends the work. */
  speakClause(clause: string): AsyncIterator<EngineAudio>;
}

/**
 * Speaks one request clause by clause: the next clause starts after the consumer took the last block of this one.
 * Each word is reported once, in order: if the engine gives word times, all but a clause's last come with the clause's
 * first audio, else all with its last.
 */
export async function* speak(
  request: TtsRequest,
  settings: VoiceSettings,
  engine: SpeechEngine,
): AsyncGenerator<TtsAudio> {
  const deadlines = new Deadlines(request.clock, engine.provider, request.signal);
  try {
    let spokenMs = 0;
    let pauseMs = 0;
    for (const clause of clausesOf(request, engine)) {
      const output = new ClauseOutput(clause.words, settings, spokenMs, spokenMs > 0 ? pauseMs / settings.rate : 0);
      for await (const block of blocksOf(clause.text, engine, request, deadlines)) yield* output.push(block);
      yield* output.finish();
      spokenMs = output.endMs;
      pauseMs = clause.pauseMs;
    }
  } finally {
    deadlines.end();
  }
}

interface SpokenClause {
  words: readonly SpokenWord[];
  text: string;
  pauseMs: number;
}

function clausesOf(request: TtsRequest, engine: SpeechEngine): SpokenClause[] {
  const { text } = request;
  const words = speechWords(request, engine.takesPhonemes === true).map(({ spoken, ...word }) => ({
    ...word,
    spoken: spoken === '' ? '' : engine.pronounce(spoken),
  }));
  const clauses: SpokenClause[] = [];
  let next = 0;
  for (const { end, pauseMs } of splitClauses(text)) {
    const first = next;
    while (next < words.length && (words[next] as SpokenWord).start < end) next++;
    const own = words.slice(first, next);
    const said = spokenText(own);
    const last = clauses.at(-1);
    // Words that are not said go with a clause that is, so that they too are reported.
    if (last !== undefined && (said === '' || last.text === '')) {
      clauses[clauses.length - 1] = { words: [...last.words, ...own], text: last.text || said, pauseMs };
    } else {
      clauses.push({ words: own, text: said, pauseMs });
    }
  }
  return clauses.filter((clause) => clause.text !== '');
}

/** The engine's audio on the request's clock, under its deadline and signal. */
async function* blocksOf(
  text: string,
  engine: SpeechEngine,
  { clock }: TtsRequest,
  deadlines: Deadlines,
): AsyncGenerator<EngineAudio> {
  const { signal } = deadlines;
  signal.throwIfAborted();
  const source = engine.speakClause(text);
  let dueMs = clock.nowMs() + engine.latency.firstMs + engine.latency.perCharMs * text.length;
  try {
    for (;;) {
      deadlines.within(engine.timeoutMs);
      const result = await raceAbort(clock.settle(source.next(), dueMs), signal);
      deadlines.pause();
      if (result.done === true) return;
      yield result.value;
      dueMs = Math.max(clock.nowMs(), dueMs + engine.latency.blockMs);
    }
  } finally {
    await source.return?.();
  }
}

/** Converts one clause's audio for the request: trimmed, at its volume, with words. */
class ClauseOutput {
  readonly #words: readonly SpokenWord[];
  readonly #settings: VoiceSettings;
  readonly #pauseMs: number;
  #trimmer: SilenceTrimmer | undefined;
  #rateHz = 0;
  #tokens: readonly WordTime[] | undefined;
  /** Where this clause's speech begins, after the pause. */
  #startMs: number;
  #speechSamples = 0;
  #reported = 0;
  /** The clause's speech so far, for estimating word times. Not kept if the engine gives word times. */
  readonly #speech: Int16Array[] = [];

  constructor(words: readonly SpokenWord[], settings: VoiceSettings, startMs: number, pauseMs: number) {
    this.#words = words;
    this.#settings = settings;
    this.#startMs = startMs;
    this.#pauseMs = pauseMs;
  }

  /** Where the request's audio ends by now. */
  get endMs(): number {
    return this.#startMs + this.#speechMs;
  }

  *push(block: EngineAudio): Generator<TtsAudio> {
    this.#rateHz = block.sampleRateHz;
    this.#trimmer ??= new SilenceTrimmer(block.sampleRateHz);
    this.#tokens ??= this.#perWord(block.tokens);
    yield* this.#emit(this.#trimmer.push(block.samples));
  }

  *finish(): Generator<TtsAudio> {
    const samples = this.#trimmer?.finish() ?? new Int16Array(0);
    if (samples.length > 0) yield* this.#emit(samples, this.#tokens ?? this.#estimated(samples));
  }

  *#emit(samples: Int16Array, lastTimes?: readonly WordTime[]): Generator<TtsAudio> {
    if (samples.length === 0) return;
    const pause = this.#speechSamples === 0 ? Math.round((this.#pauseMs * this.#rateHz) / 1000) : 0;
    const out = new Int16Array(pause + samples.length);
    mix(out.subarray(pause), [samples], [this.#settings.volume]);
    this.#startMs += samplesToMs(pause, this.#rateHz);
    this.#speechSamples += samples.length;
    const words = lastTimes === undefined ? this.#early() : this.#report(lastTimes, this.#words.length);
    if (this.#tokens === undefined && lastTimes === undefined) this.#speech.push(samples);
    const piece = { samples: out, sampleRateHz: this.#rateHz };
    yield words.length > 0 ? { ...piece, words } : piece;
  }

  get #speechMs(): number {
    return this.#rateHz === 0 ? 0 : samplesToMs(this.#speechSamples, this.#rateHz);
  }

  /** All but the last word: how long that lasts shows only when the end has been trimmed. */
  #early(): TtsWord[] {
    return this.#tokens === undefined ? [] : this.#report(this.#tokens, this.#words.length - 1, false);
  }

  #report(times: readonly WordTime[], until: number, ended = true): TtsWord[] {
    const leadMs = this.#tokens === undefined ? 0 : samplesToMs(this.#trimmer?.leadingSamples ?? 0, this.#rateHz);
    const limitMs = ended ? this.#speechMs : Number.POSITIVE_INFINITY;
    const at = (ms: number): number => this.#startMs + Math.min(limitMs, Math.max(0, ms - leadMs));
    const words: TtsWord[] = [];
    for (; this.#reported < until; this.#reported++) {
      const time = times[this.#reported] as WordTime;
      const { text } = this.#words[this.#reported] as SpokenWord;
      words.push({ text, startMs: at(time.startMs), endMs: at(time.endMs) });
    }
    return words;
  }

  #estimated(last: Int16Array): WordTime[] {
    const speech = new Int16Array(this.#speechSamples + last.length);
    let at = 0;
    for (const part of [...this.#speech, last]) {
      speech.set(part, at);
      at += part.length;
    }
    return estimateWordTimes(
      this.#words.map((word) => withoutPhonemes(word.spoken)),
      speech,
      this.#rateHz || 1,
    );
  }

  /** Joins the engine's times of pieces to times of words. None if the engine cut the text in other pieces. */
  #perWord(tokens: readonly WordTime[] | undefined): WordTime[] | undefined {
    const counts = this.#words.map(({ spoken }) => (spoken === '' ? 0 : spoken.split(' ').length));
    if (tokens?.length !== counts.reduce((a, b) => a + b, 0)) return undefined;
    let next = 0;
    let endMs = tokens[0]?.startMs ?? 0;
    return counts.map((count) => {
      const startMs = count === 0 ? endMs : (tokens[next]?.startMs ?? endMs);
      next += count;
      endMs = count === 0 ? endMs : (tokens[next - 1]?.endMs ?? endMs);
      return { startMs, endMs };
    });
  }
}

/**
 * Synthesis latency in virtual time: the medians measured by the tts part of `npm run bench` (docs/providers.md). A run
 * in virtual time is realistic, and gives the same result on every machine.
 */
interface TtsLatency {
  /** From the request to a clause's first audio, without regard to its length. */
  firstMs: number;
  /** And for every character of the clause. */
  perCharMs: number;
  /** From one block of audio to the next. */
  blockMs: number;
}

export const FLITE_LATENCY: Readonly<Record<FliteVoiceId, TtsLatency>> = {
  slt: { firstMs: 5, perCharMs: 0.4, blockMs: 1.2 },
  rms: { firstMs: 4, perCharMs: 0.5, blockMs: 1.3 },
  awb: { firstMs: 4, perCharMs: 0.4, blockMs: 1.2 },
  kal16: { firstMs: 1, perCharMs: 0.05, blockMs: 0.1 },
  kal: { firstMs: 1, perCharMs: 0.1, blockMs: 0.1 },
};

export const ESPEAK_LATENCY: TtsLatency = { firstMs: 12, perCharMs: 0.1, blockMs: 0.3 };

/** What the embedded voices take as `voice.settings`. All are factors; 1 is the voice's own. */
export interface VoiceSettings {
  /** Speed, 0.5 (half) to 2 (twice as fast). Default 1. */
  rate: number;
  /** Pitch, 0.5 (an octave lower) to 2 (an octave higher). Default 1. */
  pitch: number;
  /** Loudness, 0 to 4; what exceeds full scale is softly clipped. Default 1. */
  volume: number;
}

const RANGES: Readonly<Record<keyof VoiceSettings, readonly [least: number, most: number]>> = {
  rate: [0.5, 2],
  pitch: [0.5, 2],
  volume: [0, 4],
};

/** @throws ParleyError TTS_SETTING_INVALID for an unknown name, another type or a value out of range */
export function parseVoiceSettings(provider: string, settings: Readonly<Record<string, unknown>>): VoiceSettings {
  const parsed: VoiceSettings = { rate: 1, pitch: 1, volume: 1 };
  for (const [name, value] of Object.entries(settings)) {
    if (!isSetting(name)) throw invalid(provider, name, `it knows ${Object.keys(RANGES).join(', ')}`);
    if (value === null || value === undefined) continue;
    const [least, most] = RANGES[name];
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      throw invalid(provider, name, `it must be a number from ${least} to ${most}`);
    }
    parsed[name] = value;
  }
  return parsed;
}

function isSetting(name: string): name is keyof VoiceSettings {
  return Object.hasOwn(RANGES, name);
}

function invalid(provider: string, setting: string, reason: string): ParleyError {
  return new ParleyError('TTS_SETTING_INVALID', { provider, setting: setting.slice(0, 100), reason });
}
