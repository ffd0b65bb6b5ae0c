import { wideTokens } from './fsg.js';
import { type NgramModel, trainNgram, type WeightedSentence } from './ngram.js';
import { expandPhrase, type PhraseList } from './phrase-list.js';

/** The answers that are spelled, and the classes of words that people spell. */
const SPELLED = 'letters';
const SPELLED_CLASSES = ['{first}', '{last}', '{surname}'];
const SPELLED_WEIGHT = 2;

/** Models of what users answer, by what the question asks for. */
export function answerModels(list: PhraseList): ReadonlyMap<string, NgramModel> {
  const wide = wideTokens(list.wordClasses);
  return new Map(
    [...list.answers].map(([answer, phrases]) => {
      const sentences = phrases.flatMap(({ text, weight }) => expandPhrase(text, weight, list));
      const spelled = answer === SPELLED ? spelledWords(list) : [];
      return [answer, trainNgram([...sentences, ...spelled], [], { wideTokens: wide })];
    }),
  );
}

/** Names letter by letter: which letters follow each other. */
function spelledWords({ wordClasses }: PhraseList): WeightedSentence[] {
  const names = new Set(SPELLED_CLASSES.flatMap((token) => wordClasses.get(token) ?? []));
  return [...names].map((name) => ({ words: Array.from(name.replace(/[^a-z]/g, '')), weight: SPELLED_WEIGHT }));
}
