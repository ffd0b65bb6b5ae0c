import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { SpeechHints } from '../stt.js';
import { compileGrammar, wideTokens, type Grammar } from '../lm/fsg.js';
import { corpusOf, disfavoured } from '../lm/hints.js';
import { PathScore } from '../lm/path-score.js';
import { trainNgram } from '../lm/ngram.js';
import { guessPronunciation } from '../lm/pronounce.js';
import type { SpeechLanguage } from '../lm/text.js';
import type { LanguageData } from './language-data.js';
import type { Pronunciation } from './lexicon.js';
import type { VocabularyReport, Hypothesis, HypothesisWord } from './protocol.js';
import { FRAME_SAMPLES, type DecodedSegment } from './decoder.js';

/** A decoder's input for one agent. */
export interface Vocabulary {
  /** Equal for equal language and hints. */
  readonly key: string;
  readonly language: SpeechLanguage;
  /** Dictionary entries for the grammar's labels. */
  readonly words: readonly Pronunciation[];
  readonly grammar: Grammar;
  readonly report: VocabularyReport;
  /** Logarithm of the probability of sentences as answers to a question, see PathScore. */
  score(sentences: readonly (readonly string[])[], answer: ExpectedAnswer | null): readonly number[];
}

/** A cache key, equal for all calls of one agent. */
export function vocabularyKey(language: SpeechLanguage, hints: SpeechHints): string {
  return JSON.stringify([language, hints.phrases, hints.texts, [...hints.keywords]]);
}

/** Builds the language model and grammar of an agent. */
export function compileVocabulary(key: string, hints: SpeechHints, data: LanguageData): Vocabulary {
  const { language, lexicon, list, background, answers } = data;
  const corpus = corpusOf(hints, list, background, language);
  const factors = disfavoured(hints, language);
  const words: Pronunciation[] = [];
  const guessed: string[] = [];
  const leftOut: string[] = [];
  const known = new Map<string, readonly string[]>();
  const entriesOf = (word: string): readonly Pronunciation[] => {
    const found = lexicon.pronunciations(word);
    if (found.length > 0) return found;
    const phones = language === 'en' ? guessPronunciation(word) : null;
    (phones === null ? leftOut : guessed).push(word);
    return phones === null ? [] : [[word, phones]];
  };
  const pronunciations = (word: string): readonly string[] => {
    let labels = known.get(word);
    if (labels === undefined) {
      const entries = entriesOf(word);
      words.push(...entries);
      known.set(word, (labels = entries.map(([entry]) => entry)));
    }
    return labels;
  };
  const grammar = compileGrammar(
    trainNgram(corpus.sentences, corpus.words, { wideTokens: wideTokens(list.wordClasses) }),
    {
      pronunciations,
      factorOf: (word) => factors.get(word) ?? 1,
      classes: list.wordClasses,
      answers,
      garbage: data.garbage.map(([label]) => label),
      garbageProbability: GARBAGE_PROBABILITY[language],
    },
  );
  const report = { words: known.size - leftOut.length, states: grammar.stateCount, guessed, leftOut };
  let paths: PathScore | undefined;
  return {
    key,
    language,
    words: [...words, ...data.garbage],
    grammar,
    report,
    score: (sentences, answer) => {
      const scorer = (paths ??= new PathScore(grammar));
      const start = answer === null ? grammar.start : (grammar.starts.get(answer) ?? grammar.start);
      return sentences.map((sentence) => scorer.of(sentence, start));
    },
  };
}

/**
 * Whether a transcript can be trusted. From out-of-vocabulary speech this decoder makes a word salad of similar sounds.
 * Three measures reveal it:
 *
 * - the share of the speech that fits a free phone loop ("garbage") better than any words;
 * - the language model's log-probability per word, low if the path used back-offs;
 * - the same per frame, low if many unlikely short words cover the audio.
 *
 * A logistic regression over them gives the confidence. bench/stt.ts collects the measures and docs/stt.md lists the
 * error rates. (Acoustic scores add nothing: the salad is chosen for its sound.)
 */
const WEIGHTS = { bias: 9, garbage: -8.7, perWord: 0.127, perFrame: 2.2 } as const;

/**
 * Probability of each phone of the garbage loop: higher values absorb more, including poorly pronounced known words.
 * The French model's phones match more readily.
 */
export const GARBAGE_PROBABILITY: Readonly<Record<SpeechLanguage, number>> = { en: 0.15, fr: 0.06 };

/** Below this confidence the transcript is only a best guess. */
const UNDERSTOOD = 0.5;

/** The words of a decoder's best path with their confidence, and whether to trust them. */
export function judge(path: readonly DecodedSegment[]): Hypothesis {
  const spoken = path.filter((segment) => segment.kind === 'word');
  if (spoken.length === 0) return { text: '', understood: false, confidence: 0, words: [] };

  const garbageFrames = totalFrames(path.filter((segment) => segment.kind === 'garbage'));
  const wordFrames = totalFrames(spoken);
  const garbage = garbageFrames / (garbageFrames + wordFrames);
  const language = spoken.reduce((sum, segment) => sum + segment.language, 0);
  const confidence = confidenceOf(garbage, language / spoken.length, language / wordFrames);
  const words = spoken.map((segment): HypothesisWord => ({
    text: segment.word,
    startSample: segment.startFrame * FRAME_SAMPLES,
    endSample: (segment.endFrame + 1) * FRAME_SAMPLES,
    confidence: confidenceOf(garbage, segment.language, segment.language / totalFrames([segment])),
  }));
  return { text: words.map((word) => word.text).join(' '), understood: confidence >= UNDERSTOOD, confidence, words };
}

function confidenceOf(garbage: number, perWord: number, perFrame: number): number {
  const { bias, ...weights } = WEIGHTS;
  const sum = bias + weights.garbage * garbage + weights.perWord * perWord + weights.perFrame * perFrame;
  return 1 / (1 + Math.exp(-sum));
}

function totalFrames(segments: readonly DecodedSegment[]): number {
  return segments.reduce((sum, { startFrame, endFrame }) => sum + endFrame - startFrame + 1, 0);
}
