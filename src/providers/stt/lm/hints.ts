import type { SpeechHints } from '../stt.js';
import type { WeightedSentence } from './ngram.js';
import { expandPhrase, type PhraseList } from './phrase-list.js';
import { spokenSentences, type SpeechLanguage } from './text.js';

/** Training data of a language model. */
export interface Corpus {
  readonly sentences: readonly WeightedSentence[];
  /** Words to include even if no sentence contains them. */
  readonly words: readonly string[];
}

/** Weights of the kinds of text. Phrases are what the user may say; texts only contribute the topic's words. */
const WEIGHT = { phrase: 12, text: 1, keyword: 2 } as const;
/** Total weight of all phrases, so that a thousand of them do not drown out "yes" and "wait". */
const PHRASE_BUDGET = 4_000;
/** Longest sentence that is trained as a whole, in words. */
const MAX_SENTENCE_WORDS = 60;
const MAX_PHRASES = 2_000;
const MAX_TEXT_SENTENCES = 600;
const MAX_KEYWORDS = 1_000;
const MAX_KEYWORD_WEIGHT = 100;

/** The everyday language in every agent's corpus. Expanding it takes longer than expanding an agent's hints. */
export function backgroundCorpus(list: PhraseList): Corpus {
  const sentences = list.phrases.flatMap(({ text, weight }) => expandPhrase(text, weight, list));
  return { sentences, words: list.words };
}

/**
 * Probability factors for words of keywords with a negative weight: a tenth per ten. The words of a keyword share it.
 */
export function disfavoured({ keywords }: SpeechHints, language: SpeechLanguage): ReadonlyMap<string, number> {
  const factors = new Map<string, number>();
  for (const [keyword, weight] of [...keywords].slice(0, MAX_KEYWORDS)) {
    if (weight >= 0) continue;
    const words = spokenSentences(keyword, language).flat();
    const factor = 10 ** (Math.max(weight, -MAX_KEYWORD_WEIGHT) / 10 / words.length);
    for (const word of words) factors.set(word, factor);
  }
  return factors;
}

/** The sentences and words of an agent's hints, added to the background corpus of its language. */
export function corpusOf(hints: SpeechHints, list: PhraseList, background: Corpus, language: SpeechLanguage): Corpus {
  const sentences = [...background.sentences];
  const add = (words: readonly string[], weight: number): void => {
    if (words.length > 0) sentences.push({ words: words.slice(0, MAX_SENTENCE_WORDS), weight });
  };
  const phrases = hints.phrases.slice(0, MAX_PHRASES);
  // A thousand phrases contain a few hundred words, and most are spoken as written.
  const spokenWords = new Map<string, readonly string[]>();
  const spokenWord = (word: string): readonly string[] => {
    let words = spokenWords.get(word);
    if (words === undefined) {
      words = list.wordClasses.has(word) ? [word] : spokenSentences(word, language).flat();
      spokenWords.set(word, words);
    }
    return words;
  };
  const phraseWeight = Math.min(WEIGHT.phrase, PHRASE_BUDGET / phrases.length);
  for (const phrase of phrases) {
    for (const { words, weight } of expandPhrase(phrase, phraseWeight, list)) {
      add(words.flatMap(spokenWord), weight);
    }
  }
  const spoken = hints.texts.flatMap((text) => spokenSentences(text, language)).slice(0, MAX_TEXT_SENTENCES);
  for (const words of spoken) add(words, WEIGHT.text);
  for (const [keyword, weight] of [...hints.keywords].slice(0, MAX_KEYWORDS)) {
    if (weight <= 0) continue; // see disfavoured
    const counted = WEIGHT.keyword * Math.min(weight, MAX_KEYWORD_WEIGHT);
    for (const words of spokenSentences(keyword, language)) add(words, counted);
  }
  return { sentences, words: background.words };
}
