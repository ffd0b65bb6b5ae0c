import type { SpeechHints } from '../stt.js';
import type { WeightedSentence } from './ngram.js';
import { expandPhrase, type PhraseList } from './phrase-list.js';
import { spokenSentences, type SpeechLanguage } from './text.js';

/** What a language model is made from. */
export interface Corpus {
  readonly sentences: readonly WeightedSentence[];
  /** Words to know even where no sentence has them. */
  readonly words: readonly string[];
}

/** How much each kind of text counts. Phrases are what the user may say; texts only hold the topic's words. */
const WEIGHT = { phrase: 12, text: 1, keyword: 2 } as const;
/** Longest sentence that is learnt as a whole, in words. */
const MAX_SENTENCE_WORDS = 60;
const MAX_PHRASES = 2_000;
const MAX_TEXT_SENTENCES = 600;
const MAX_KEYWORDS = 1_000;

/** The sentences and words of an agent's hints, on top of the background of its language. */
export function corpusOf(hints: SpeechHints, background: PhraseList, language: SpeechLanguage): Corpus {
  const sentences: WeightedSentence[] = [];
  const add = (words: readonly string[], weight: number): void => {
    sentences.push({ words: words.slice(0, MAX_SENTENCE_WORDS), weight });
  };
  for (const { text, weight } of background.phrases) sentences.push(...expandPhrase(text, weight, background));
  for (const phrase of hints.phrases.slice(0, MAX_PHRASES)) {
    for (const { words, weight } of expandPhrase(phrase, WEIGHT.phrase, background)) {
      add(
        words.flatMap((word) => (background.wordClasses.has(word) ? [word] : spokenSentences(word, language).flat())),
        weight,
      );
    }
  }
  const spoken = hints.texts.flatMap((text) => spokenSentences(text, language)).slice(0, MAX_TEXT_SENTENCES);
  for (const words of spoken) add(words, WEIGHT.text);
  for (const [keyword, weight] of [...hints.keywords].slice(0, MAX_KEYWORDS)) {
    for (const words of spokenSentences(keyword, language))
      add(words, WEIGHT.keyword * Math.min(Math.max(weight, 0.1), 100));
  }
  return { sentences, words: background.words };
}
