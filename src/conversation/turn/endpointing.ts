import type { EndpointingConfig } from '../../agent/flow/turn-taking.js';
import { dictationOf } from './dictation.js';
import { QUESTION_MARK, TURN_ENDINGS, TURN_WORDS, type TurnEndings, type TurnWords } from './turn-words.js';
import { baseLanguage } from '../../base/language.js';
import { wordSet, wordsOf } from '../language/words.js';

/** The evidence for scoring the end of a turn. */
export interface TurnEvidence {
  /** The words so far, divided by pauses. */
  parts: readonly string[];
  language: string;
  /** Whether the recogniser has given its final transcript. */
  isFinal: boolean;
  /** The agent's last words, empty = none yet. */
  agentSaid: string;
  /** An audio model's probability that the turn is over, 0 to 1; null = no model, or no result yet. */
  audio: number | null;
  /** The longest pause so far after which this turn continued, in ms; 0 = none. */
  longestPauseMs: number;
  /** This user's usual pause inside turns, from earlier turns, in ms; 0 = unknown. */
  usualPauseMs: number;
}

export interface TurnScore {
  /** From 0 (surely continues) to 1 (surely complete). */
  completeness: number;
  /** The user is dictating a number or an identifier. */
  dictating: boolean;
  /** A silence that is usual inside this turn, with a margin: no sign of its end. */
  rhythmMs: number;
  /** How much longer this user's pauses are than usual: 1 (not longer) to 1.5. */
  slowness: number;
  /** Neither words nor an audio model: only the silence is known. */
  wordless: boolean;
}

/** Weight of the audio model relative to the words; during dictation the words are more reliable. */
const AUDIO_WEIGHT = 0.6;
const AUDIO_WEIGHT_DICTATING = 0.25;
/** Completeness from which a turn is surely complete. */
const SURE = 0.9;
/** How fast the required silence falls with completeness: words of medium completeness are answered soon. */
const STEEPNESS = 2;
/** Below this completeness the user's earlier pauses count; for a dictated number up to a higher one. */
const UNSURE = 0.6;
const UNSURE_DICTATING = 0.7;
/** A silence must be this many times as long as the earlier pauses. */
const RHYTHM_FACTOR = 1.25;
/**
 * Without words a fixed silence ends the turn, so that parley is never slower than a timer with as many false cut-offs.
 * It is so many times `minSilenceMs` …
 */
const WORDLESS_SILENCES = 2.7;
/** … and at least this part of `maxSilenceMs`, also where a very short `minSilenceMs` is set for complete words. */
const WORDLESS_PART = 0.25;
/** Most people's pauses inside a turn are shorter. */
const COMMON_PAUSE_MS = 700;
const MOST_SLOWNESS = 1.5;
/** An open question: the answer may be long. */
const OPEN_QUESTION =
  /(?:can|may|could) i (?:help|do for)|help you|wie kann ich|puis-je vous aider|en qué puedo|em que posso|come posso|waarmee kan|कैसे मदद|ご用件|有什么可以帮/iu;

export function scoreTurn(evidence: TurnEvidence): TurnScore {
  const { parts, language, agentSaid, audio, longestPauseMs, usualPauseMs } = evidence;
  const dictation = dictationOf(parts, language, agentSaid);
  let completeness = dictation?.completeness ?? completenessOf(parts.join(' '), language);
  if (dictation === null && completeness > 0.5) completeness += byQuestion(agentSaid);
  if (!evidence.isFinal) completeness -= 0.1;
  if (audio !== null) {
    const weight = dictation === null ? AUDIO_WEIGHT : AUDIO_WEIGHT_DICTATING;
    completeness += weight * (audio - completeness);
  }
  const unsure = completeness < (dictation === null ? UNSURE : UNSURE_DICTATING);
  return {
    completeness: Math.max(0, Math.min(0.95, completeness)),
    dictating: dictation !== null && dictation.kind !== 'address',
    rhythmMs: unsure ? longestPauseMs * RHYTHM_FACTOR : 0,
    slowness: Math.max(1, Math.min(MOST_SLOWNESS, usualPauseMs / COMMON_PAUSE_MS)),
    wordless: audio === null && parts.every((part) => part.trim() === ''),
  };
}

/** After a question, words that can be an answer are complete sooner. */
function byQuestion(agentSaid: string): number {
  return QUESTION_MARK.test(agentSaid) && !OPEN_QUESTION.test(agentSaid) ? 0.15 : 0;
}

/**
 * The silence after which a turn with this score is over. The required score falls as the silence grows, from sure
 * completeness at `minSilenceMs` to 0 at `maxSilenceMs`; this is the time at which the score meets it. Without words it
 * is always the same.
 */
export function silenceNeededMs(score: TurnScore, config: EndpointingConfig): number {
  const { minSilenceMs, maxSilenceMs, responseDelayMs, numberInputDelayMs } = config;
  if (score.wordless) {
    const fixed = Math.max(minSilenceMs * WORDLESS_SILENCES, maxSilenceMs * WORDLESS_PART);
    return Math.round(Math.max(Math.min(fixed, Math.max(minSilenceMs, maxSilenceMs)), responseDelayMs));
  }
  const openness = (1 - Math.min(1, score.completeness / SURE)) ** STEEPNESS;
  const scored = minSilenceMs + Math.max(0, maxSilenceMs - minSilenceMs) * openness * score.slowness;
  const paced = Math.min(Math.max(scored, score.rhythmMs), Math.max(minSilenceMs, maxSilenceMs));
  return Math.round(Math.max(paced, responseDelayMs)) + (score.dictating ? numberInputDelayMs : 0);
}

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
