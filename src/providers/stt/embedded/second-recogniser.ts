import { samplesToMs, HEARING_RATE_HZ } from '../../../audio/frame.js';
import type { Clock } from '../../../base/clock.js';
import { reasonOf } from '../../../base/errors.js';
import { FRAME_SAMPLES } from './decoder.js';
import type { PocketSphinx, SphinxWord } from './pocketsphinx.js';
import type { Hypothesis } from './protocol.js';

/** A turn, for a second opinion on it. */
export interface Question {
  audio: readonly Int16Array[];
  clock: Clock;
  /** Logarithms of how probable the agent's grammar finds sentences; null = the session is over. */
  score: (sentences: readonly (readonly string[])[]) => Promise<readonly number[] | null>;
  /** Told why there is no second opinion. */
  onFault: (reason: string) => void;
}

/** A final transcript waits for the second opinion this long at most. */
const DEADLINE_MS = 1500;
/** So long after the end of speech the final transcript is there at the latest: the VAD tells of that end later. */
export const SECOND_FINAL_MS = DEADLINE_MS + 400;
/** Time of a decoding as measured on an idle machine; in virtual time, exactly. */
const LATENCY = { baseMs: 60, perSecondMs: 250 } as const;
/** Below this confidence of the first recogniser the second is asked. */
const DOUBT = 0.9;

/**
 * A recogniser with a general language model behind the one with the agent's grammar: it decodes what that one refuses
 * or doubts. The grammar has no part in the search, but says how probable both transcripts are: that is how far the
 * second one is trusted, and what decides between them.
 */
export class SecondRecogniser {
  readonly #sphinx: PocketSphinx;

  constructor(sphinx: PocketSphinx) {
    this.#sphinx = sphinx;
  }

  /** Loads the models. */
  start(): void {
    this.#sphinx.start();
  }

  /** The first recogniser's transcript, or a better one. */
  async improve(first: Hypothesis, { audio, clock, score, onFault }: Question): Promise<Hypothesis> {
    const length = audio.reduce((sum, { length: samples }) => sum + samples, 0);
    const takesMs = LATENCY.baseMs + (LATENCY.perSecondMs * samplesToMs(length, HEARING_RATE_HZ)) / 1000;
    // A longer turn's opinion would be late: the caller would wait for nothing.
    if ((first.understood && first.confidence >= DOUBT) || takesMs > DEADLINE_MS) return first;
    const samples = new Int16Array(length);
    let at = 0;
    for (const piece of audio) {
      samples.set(piece, at);
      at += piece.length;
    }
    const opinion = async (): Promise<Hypothesis> => {
      const words = await this.#sphinx.decode(samples, clock.virtual ? null : DEADLINE_MS);
      // Letters alone are hums ("mm-hm"), or a spelling, which the grammar hears better.
      if (words === null || words.every(({ text }) => text.length === 1)) return first;
      const sentences = [words, first.words].map((sentence) => sentence.map(({ text }) => text));
      const scores = await score(sentences);
      return scores === null ? first : better(first, words, scores);
    };
    const best = opinion().catch((error: unknown) => {
      onFault(reasonOf(error));
      return first;
    });
    return clock.settle(best, clock.nowMs() + takesMs);
  }

  async close(): Promise<void> {
    await this.#sphinx.close();
  }
}

/**
 * How probable the grammar must find each word of the second transcript, on the average with the end. Most misheard
 * sounds are one or two common words: those must be something that people say by itself.
 */
const TRUSTED = { short: -3, long: -5.2 } as const;
const SHORT_WORDS = 2;
const STEEPNESS = 1.5;

/** @param scores of the second transcript and of the first */
function better(first: Hypothesis, words: readonly SphinxWord[], scores: readonly number[]): Hypothesis {
  const [second = 0, own = 0] = scores;
  const perWord = second / (words.length + 1);
  const trusted = words.length <= SHORT_WORDS ? TRUSTED.short : TRUSTED.long;
  const confidence = 1 / (1 + Math.exp(-STEEPNESS * (perWord - trusted)));
  if (perWord < trusted || (first.understood && perWord <= own / (first.words.length + 1))) return first;
  return {
    text: words.map(({ text }) => text).join(' '),
    understood: true,
    confidence,
    words: words.map(({ text, startFrame, endFrame }) => ({
      text,
      startSample: startFrame * FRAME_SAMPLES,
      endSample: (endFrame + 1) * FRAME_SAMPLES,
      confidence,
    })),
  };
}
