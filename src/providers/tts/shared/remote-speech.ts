import { samplesToMs } from '../../../audio/frame.js';
import { Deadlines } from '../../deadlines.js';
import { spokenText, type SpokenWord } from '../text/speakable.js';
import { speechWords, withoutPhonemes } from '../text/spoken-words.js';
import { estimateWordTimes } from '../timing.js';
import { SilenceTrimmer } from '../trim.js';
import type { TtsAudio, TtsRequest, TtsWord } from '../tts.js';
import { type TimedText, WordAligner } from '../text/word-aligner.js';

/** A piece of an utterance from a vendor. Times count from the utterance's first sample. */
export interface SpeechPiece {
  samples?: Int16Array;
  /** Default: the voice's. Constant within an utterance. */
  sampleRateHz?: number;
  words?: readonly TimedText[];
}

export interface RemoteVoice {
  provider: string;
  sampleRateHz: number;
  /** Longest wait for the first audio, connecting included. */
  firstAudioMs: number;
  /** Longest wait between two pieces. */
  gapMs: number;
  /** Whether `pieces` reads phonemes (`withPhonemes`). Default false. */
  takesPhonemes?: boolean;
  /** Speaks the text. Fails with the signal's reason as soon as that is aborted, and has the vendor stop. */
  pieces: (text: string, signal: AbortSignal) => AsyncIterable<SpeechPiece>;
}

/**
 * Speaks one request through a vendor: skips mark-up, trims silence around the speech, and reports each word once and
 * in order, with the vendor's times if it gives any, else with estimated ones at the end.
 * @throws ParleyError PROVIDER_TIMEOUT where a deadline passes; the signal's reason when it is aborted
 */
export async function* speakRemotely(request: TtsRequest, voice: RemoteVoice): AsyncGenerator<TtsAudio> {
  request.signal.throwIfAborted();
  const sent = speechWords(request, voice.takesPhonemes === true);
  const text = spokenText(sent);
  if (text === '') return;
  const words = sent.map((word) => ({ ...word, spoken: withoutPhonemes(word.spoken) }));
  const deadlines = new Deadlines(request.clock, voice.provider, request.signal);
  const output = new RemoteOutput(words, voice.sampleRateHz);
  try {
    deadlines.within(voice.firstAudioMs);
    for await (const piece of voice.pieces(text, deadlines.signal)) {
      // Drops pieces that arrived before the abort.
      deadlines.signal.throwIfAborted();
      // Only the vendor's silence counts, not the reader's. Words alone are not audio.
      if (output.hasAudio || piece.samples !== undefined) deadlines.pause();
      yield* output.push(piece);
      if (output.hasAudio) deadlines.within(voice.gapMs);
    }
    deadlines.pause();
    yield* output.finish();
  } catch (error) {
    throw deadlines.signal.aborted ? (deadlines.signal.reason as Error) : error;
  } finally {
    deadlines.end();
  }
}

class RemoteOutput {
  readonly #words: readonly SpokenWord[];
  #rateHz: number;
  #trimmer: SilenceTrimmer | null = null;
  readonly #aligner: WordAligner;
  #speechSamples = 0;
  /** Speech so far, to estimate word times; not kept if the vendor gives them. */
  #speech: Int16Array[] = [];
  hasAudio = false;

  constructor(words: readonly SpokenWord[], rateHz: number) {
    this.#words = words;
    this.#rateHz = rateHz;
    this.#aligner = new WordAligner(words);
  }

  *push({ samples, sampleRateHz, words = [] }: SpeechPiece): Generator<TtsAudio> {
    for (const word of words) this.#aligner.push(word);
    if (samples === undefined || samples.length === 0) return;
    this.hasAudio = true;
    if (this.#trimmer === null) {
      this.#rateHz = sampleRateHz ?? this.#rateHz;
      this.#trimmer = new SilenceTrimmer(this.#rateHz);
    }
    const speech = this.#trimmer.push(samples);
    if (speech.length > 0) yield this.#audio(speech, this.#aligner.take());
  }

  *finish(): Generator<TtsAudio> {
    const speech = this.#trimmer?.finish() ?? new Int16Array(0);
    if (speech.length === 0) return;
    const endMs = samplesToMs(this.#speechSamples + speech.length, this.#rateHz);
    const words = this.#aligner.hasTimes ? this.#aligner.finish(endMs + this.#leadMs) : this.#estimated(speech);
    yield this.#audio(speech, words, this.#aligner.hasTimes ? this.#leadMs : 0);
  }

  get #leadMs(): number {
    return samplesToMs(this.#trimmer?.leadingSamples ?? 0, this.#rateHz);
  }

  #audio(samples: Int16Array, words: readonly TtsWord[], leadMs = this.#leadMs): TtsAudio {
    this.#speechSamples += samples.length;
    if (this.#aligner.hasTimes) this.#speech = [];
    else this.#speech.push(samples);
    const shifted = words.map(({ text, startMs, endMs }) => ({
      text,
      startMs: Math.max(0, startMs - leadMs),
      endMs: Math.max(0, endMs - leadMs),
    }));
    const piece = { samples, sampleRateHz: this.#rateHz };
    return words.length > 0 ? { ...piece, words: shifted } : piece;
  }

  #estimated(last: Int16Array): TtsWord[] {
    const speech = new Int16Array(this.#speechSamples + last.length);
    let at = 0;
    for (const part of [...this.#speech, last]) {
      speech.set(part, at);
      at += part.length;
    }
    const times = estimateWordTimes(
      this.#words.map(({ spoken }) => spoken),
      speech,
      this.#rateHz,
    );
    return this.#words.map(({ text }, index) => ({ text, startMs: 0, endMs: 0, ...times[index] }));
  }
}
