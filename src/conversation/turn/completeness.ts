import { baseLanguage } from '../../base/language.js';
import { QUESTION_MARK, TURN_ENDINGS, TURN_WORDS, type TurnEndings, type TurnWords } from './turn-words.js';
import { wordSet, wordsOf } from '../language/words.js';

/**
 * How complete words are as a turn, judged by the words alone: a sentence that ends in "and" continues. From 0 (surely
 * continues) to 1 (surely complete).
 */
export function completenessOf(text: string, language: string): number {
  const words = wordsOf(text);
  const last = words.at(-1);
  if (last === undefined) return 0.3;
  if (QUESTION_MARK.test(text) || /[!！][\s"'”’)]*$/u.test(text)) return 0.95;
  if (/(?:…|\.\.)\s*$/u.test(text)) return 0.15;
  const base = baseLanguage(language);
  const endings = own(TURN_ENDINGS, base);
  if (endings !== undefined) return byEnding(words.join(''), text, endings);
  const known = own(TURN_WORDS, base);
  return known === undefined ? byPunctuation(text, words.length) : byWords(text, words, known, base === 'en');
}

function byWords(text: string, words: readonly string[], known: TurnWords, english: boolean): number {
  const last = words.at(-1) ?? '';
  const asks = words.length >= 3 && known.asking.has(words[0] ?? '');
  if (known.hesitation.has(last)) return 0.05;
  if (words.every((word) => known.greeting.has(word))) return 0.6;
  // "No" is often only the beginning.
  if (words.length === 1 && known.refusing.has(last)) return 0.72;
  if (words.length <= 3 && words.every((word) => known.answers.has(word))) return 0.95;
  // "Where are you from" and "Who is this for" are complete, "can I have a table for" is not.
  if (english && STRANDED.test(words.join(' '))) return 0.6;
  if (known.open.has(last)) return asks && english && WH.has(words[0] ?? '') && PREPOSITIONS.has(last) ? 0.5 : 0.06;
  if (isUnfinished(words, known, english)) return 0.15;
  if (/[,;:–—-]\s*$/u.test(text)) return 0.3;
  if (known.closing.has(last) && words.length >= 2) return 0.9;
  if (known.halfOpen.has(last) && !(english && isShortAnswer(words))) return 0.35;
  if (asks) return words.length > 3 || WH.has(words[0] ?? '') ? 0.85 : 0.65;
  return byPunctuation(text, words.length);
}

/** Japanese and Chinese: decided by the particle or the verb form at the end. */
function byEnding(letters: string, text: string, { open, closed }: TurnEndings): number {
  const longest = (list: readonly string[]): number => list.find((ending) => letters.endsWith(ending))?.length ?? 0;
  const opens = longest(open);
  const closes = longest(closed);
  if (closes >= opens && closes > 0) return 0.9;
  if (opens > 0) return 0.1;
  return byPunctuation(text, letters.length / 3);
}

/** For languages without a list, and for words that decide nothing. */
function byPunctuation(text: string, words: number): number {
  if (/[,;:、，；：–—-]\s*$/u.test(text)) return 0.3;
  return 0.65 + (/[.。।]["'”’)]*\s*$/u.test(text) ? 0.15 : 0) + (words >= 4 ? 0.1 : 0);
}

const WH = wordSet("what where who which what's where's who's how");
const PREPOSITIONS = wordSet('for from to of at with into');
/** "How are you", "what time is it", "where are they". */
const WHOLE_QUESTION = /^(?:how|where|who|when) (?:is|are|was|were) (?:you|it|he|she|they|that|this)$|^time is it$/;
/** "Something to write with". */
const STRANDED = /(?:some|any|no)(?:thing|one|body|where) to \w+(?: \w+){0,3} (?:with|for|on|in|at|about|to)$/;
/** After one of these, an auxiliary ends a short answer: "yes, it is". */
const SUBJECTS = wordSet('i you he she it we they there that this');
const AUXILIARIES = wordSet('is are was were am do does did have has had can could would should will may might must');
const LEADS = wordSet('yes yeah yep no nope sure so of course i think');

function isShortAnswer(words: readonly string[]): boolean {
  const length = words.length;
  if (!AUXILIARIES.has(words.at(-1) ?? '') || !SUBJECTS.has(words.at(-2) ?? '')) return false;
  return words.slice(0, length - 2).every((word) => LEADS.has(word));
}

function isUnfinished(words: readonly string[], known: TurnWords, english: boolean): boolean {
  if (english && (isShortAnswer(words) || WHOLE_QUESTION.test(words.slice(-3).join(' ')))) return false;
  return known.unfinished?.test(words.slice(-5).join(' ')) === true;
}

function own<T>(lists: Readonly<Record<string, T>>, base: string): T | undefined {
  return Object.hasOwn(lists, base) ? lists[base] : undefined;
}
