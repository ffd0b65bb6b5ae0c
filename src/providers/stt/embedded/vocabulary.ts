import type { SpeechHints } from '../stt.js';
import { compileGrammar, wideTokens, type Grammar } from '../lm/fsg.js';
import { corpusOf, disfavoured } from '../lm/hints.js';
import { trainNgram } from '../lm/ngram.js';
import { guessPronunciation } from '../lm/pronounce.js';
import type { SpeechLanguage } from '../lm/text.js';
import { GARBAGE_PROBABILITY } from './gate.js';
import type { LanguageData } from './language-data.js';
import type { Pronunciation } from './lexicon.js';
import type { VocabularyReport } from './protocol.js';

/** A decoder's input for one agent. */
export interface Vocabulary {
  /** Equal for equal language and hints. */
  readonly key: string;
  readonly language: SpeechLanguage;
  /** Dictionary entries for the grammar's labels. */
  readonly words: readonly Pronunciation[];
  readonly grammar: Grammar;
  readonly report: VocabularyReport;
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
  return { key, language, words: [...words, ...data.garbage], grammar, report };
}
