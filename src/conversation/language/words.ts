import { baseLanguage } from '../../base/language.js';

/** Words of a transcript in comparable form: lower case, no punctuation, apostrophes kept. */
export function wordsOf(text: string): string[] {
  return (
    text
      .toLowerCase()
      .normalize('NFKC')
      .replaceAll('’', "'")
      .match(/[\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*/gu) ?? []
  );
}

/** Words and signs (`#`, `*`, `€`, `%`…) in comparable form: equal forms ask for the same answer. */
export function sameForm(text: string): string {
  return (text.toLowerCase().normalize('NFKC').replaceAll('’', "'").match(SAME) ?? []).join(' ');
}

const SAME = /[\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*|[\p{S}#*%&@]/gu;

/** The words of a list in one text, separated by white space. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ''));
}

/** The phrases of a list in one text, separated by commas. */
export function phraseSet(text: string): ReadonlySet<string> {
  return new Set(text.split(',').map((phrase) => phrase.trim().replaceAll(/\s+/g, ' ')));
}

/** Words at the end of a request that do not change what it asks for. */
const COURTESY: Readonly<Record<string, RegExp>> = {
  en: ending('please|thanks|thank you|thank you very much|thanks a lot|if you could|if possible'),
  de: ending('bitte|danke|danke schön|vielen dank'),
  es: ending('por favor|gracias|muchas gracias'),
  fr: ending("s'il vous plaît|s'il te plaît|merci|merci beaucoup"),
  it: ending('per favore|per piacere|grazie|grazie mille'),
  nl: ending('alstublieft|alsjeblieft|graag|dank u|dank je|bedankt'),
  pt: ending('por favor|obrigado|obrigada|muito obrigado|muito obrigada'),
};

/** Words in comparable form without courtesies at the end; all of them if nothing else remains. */
export function essence(words: string, language: string): string {
  const courtesy = COURTESY[baseLanguage(language)];
  const short = courtesy === undefined ? words : words.replace(courtesy, '');
  return short === '' ? words : short;
}

function ending(phrases: string): RegExp {
  return new RegExp(`(?:^| )(?:${phrases})(?: (?:${phrases}))*$`, 'u');
}
