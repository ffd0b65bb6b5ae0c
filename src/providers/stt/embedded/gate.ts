import { FRAME_SAMPLES, type DecodedSegment } from './decoder.js';
import type { Hypothesis, HypothesisWord } from './protocol.js';

/**
 * Whether what was decoded may be believed. Speech outside the vocabulary comes out of such a decoder as a salad of
 * words that sound a little like it. It gives itself away in three measures, each mapped to 0..1:
 *
 * - **garbage**: the share of the speech that fitted a free loop of phones better than any words;
 * - **sound**: the acoustic score per frame of the words, beside the best sounds of each moment;
 * - **language**: the log-probability per word of the word sequence, low where the path went by back-offs.
 *
 * The constants were fitted with bench/stt.ts; docs/stt.md has the figures.
 */
interface Line {
  /** Value that counts 0 and value that counts 1. */
  readonly bad: number;
  readonly good: number;
}

/** Probability of each phone of the garbage loop: higher lets it soak up more, known words badly spoken included. */
export const GARBAGE_PROBABILITY = 0.12;

const GARBAGE: Line = { bad: 0.6, good: 0.1 };
const SOUND: Line = { bad: -6.5, good: -3 };
const LANGUAGE: Line = { bad: -55, good: -20 };
/** Below this confidence the words are a best guess and no more. */
const UNDERSTOOD = 0.5;
/** Frames a word must last; shorter ones come from noise. */
const MIN_WORD_FRAMES = 4;

/** The words of a decoder's best path with their confidence, and whether they are to be believed. */
export function judge(path: readonly DecodedSegment[]): Hypothesis {
  const spoken = path.filter((segment) => segment.kind === 'word');
  if (spoken.length === 0) return { text: '', understood: false, confidence: 0, words: [] };

  let garbageFrames = 0;
  let wordFrames = 0;
  let acoustic = 0;
  let language = 0;
  for (const segment of path) {
    if (segment.kind === 'garbage') garbageFrames += framesOf(segment);
    if (segment.kind !== 'word') continue;
    wordFrames += framesOf(segment);
    acoustic += segment.acoustic;
    language += segment.language;
  }
  const clean = score(garbageFrames / (garbageFrames + wordFrames), GARBAGE);
  const likely = score(language / spoken.length, LANGUAGE);
  const confidence = clean * mean(score(acoustic / wordFrames, SOUND), likely);
  const words = spoken.map((segment): HypothesisWord => {
    const tooShort = framesOf(segment) < MIN_WORD_FRAMES;
    const sound = score(segment.acoustic / framesOf(segment), SOUND);
    return {
      text: segment.word,
      startSample: segment.startFrame * FRAME_SAMPLES,
      endSample: (segment.endFrame + 1) * FRAME_SAMPLES,
      confidence: tooShort ? 0 : clean * mean(sound, score(segment.language, LANGUAGE)),
    };
  });
  return { text: words.map((word) => word.text).join(' '), understood: confidence >= UNDERSTOOD, confidence, words };
}

function framesOf(segment: DecodedSegment): number {
  return segment.endFrame - segment.startFrame + 1;
}

function score(value: number, { bad, good }: Line): number {
  return Math.min(1, Math.max(0, (value - bad) / (good - bad)));
}

function mean(a: number, b: number): number {
  return (a + b) / 2;
}
