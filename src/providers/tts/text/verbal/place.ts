import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import type { SpokenWord } from '../speakable.js';

/** A word without the punctuation around it, among its neighbours. */
export interface WordPlace {
  /** "Mon" of "(Mon.," */
  readonly core: string;
  /** Punctuation after it: ".," */
  readonly tail: string;
  /** The words around it, without punctuation; '' at the ends of the text. */
  readonly before: string;
  readonly beforeThat: string;
  readonly after: string;
  readonly afterThat: string;
  /** Whether punctuation stands between it and the word before it. */
  readonly begins: boolean;
  /** Part of a telephone number or another row of digits, and whether more of it follows. */
  readonly dictated: 'inside' | 'last' | null;
  /** A web address, of which the word is the host. */
  readonly isAddress: boolean;
}

/** At the end of what is said: the full stop behind the word is part of it, and ends no sentence. */
export const OWN_STOP = '\u0001';

/** What is said in place of a word's core; null: leave it as it is. */
export type SpeechRule = (place: WordPlace) => string | null;

const AROUND = /^([\s("'“‘«„[{¿¡]*)(.*?)([\s)"'”’»“\]},.;:!?…]*)$/su;

interface Parts {
  lead: string;
  core: string;
  tail: string;
}

/**
 * Words with what is to be said for them by rules. The first rule that has a result wins. Each word keeps its place in
 * the text, so that what was heard can still be cut from it.
 */
export function sayByRules(words: readonly SpokenWord[], rules: readonly SpeechRule[]): SpokenWord[] {
  const parts = words.map(({ spoken }) => partsOf(spoken));
  const said = parts.flatMap(({ core }, index) => (core === '' ? [] : [index]));
  const dictated = dictatedWords(said.map((index) => parts[index] as Parts));
  const spoken = words.map((word) => word.spoken);
  for (const [at, index] of said.entries()) {
    const part = parts[index] as Parts;
    const core = (offset: number): string => parts[said[at + offset] ?? -1]?.core ?? '';
    const place: WordPlace = {
      core: part.core,
      tail: part.tail,
      before: core(-1),
      beforeThat: core(-2),
      after: core(1),
      afterThat: core(2),
      begins: at === 0 || part.lead.trim() !== '' || /[.,;:!?]/.test(parts[said[at - 1] ?? -1]?.tail ?? ''),
      dictated: dictated[at] ?? null,
      isAddress: /^[("'“‘[]*(?:https?:\/\/|www\.)/i.test(words[index]?.text ?? ''),
    };
    for (const rule of rules) {
      const result = rule(place);
      if (result === null) continue;
      spoken[index] = wholeOf(result, part, place);
      const previous = said[at - 1];
      // A word that is not said leaves its pause behind.
      if (result === '' && previous !== undefined) spoken[previous] += /^[.,;:!?]+/.exec(part.tail)?.[0] ?? '';
      break;
    }
  }
  return words.map(({ text, start, end }, index) => ({ text, start, end, spoken: spoken[index] ?? '' }));
}

function wholeOf(result: string, part: Parts, place: WordPlace): string {
  if (result === '') return '';
  const tail = result.endsWith(OWN_STOP) ? part.tail.replace('.', '') : tailAfter(part, place, result);
  const [lead, end] = place.dictated === null ? [part.lead, tail] : [part.lead.replace('(', ''), tail.replace(')', '')];
  return `${lead}${result.replace(OWN_STOP, '')}${end}`
    .replace(/\s+/gu, ' ')
    .replace(/,(?=[.,;:!?])/gu, '')
    .trim();
}

function partsOf(spoken: string): Parts {
  const [, lead = '', core = '', tail = ''] = AROUND.exec(spoken) ?? [];
  return { lead, core, tail };
}

/**
 * The stop of an abbreviation or of a date ("5.3.") is no end of a sentence, unless the text ends or goes on with a
 * capital.
 */
function tailAfter({ core, tail }: Parts, { after }: WordPlace, said: string): string {
  const isDate = /^\d{1,2}\.\d{1,2}$/.test(core);
  // "$2 million." keeps its word, with another behind it.
  const isShort = isDate || (/^[\p{L}.]+$/u.test(core) && !said.startsWith(`${core} `));
  const isAbbreviation = isShort && said !== core && tail.startsWith('.');
  const goesOn = after !== '' && (isDate || !/^\p{Lu}/u.test(after));
  return isAbbreviation && goesOn ? tail.slice(1) : tail;
}

const DIGIT_GROUP = /^(?:\+?\(?\d{1,14}\)?|\+?\d{1,5}(?:[-.\u2010\u2011/]\d{2,12})+|\(0\)\d{1,12})$/u;
/** Words after which a row of digits is a number to call or to write down. */
const TELEPHONE =
  /^(?:tel|telephone|phone|fax|mobile|cell|call|whatsapp|tel[eé]fono|m[oó]vil|t[eé]l|t[eé]l[eé]phone|telefon|handy|mobil|rufnummer|nummer|anrufen)$/iu;

/** The first group of a bank account's international number, and the others. */
const IBAN_HEAD = /^[A-Z]{2}\d{2}$/u;
const IBAN_GROUP = /^[A-Z\d]{1,4}$/u;

/** Finds telephone numbers, card numbers and the like, which stand in one word or in several. */
function dictatedWords(parts: readonly Parts[]): ('inside' | 'last' | null)[] {
  const found: ('inside' | 'last' | null)[] = parts.map(() => null);
  for (let start = 0; start < parts.length; start++) {
    const iban = ibanEnd(parts, start);
    for (let at = start; at < iban; at++) found[at] = at === iban - 1 ? 'last' : 'inside';
    let end = Math.max(start, iban);
    if (iban > start) {
      start = iban - 1;
      continue;
    }
    while (end < parts.length && DIGIT_GROUP.test(whole(parts[end] as Parts))) {
      end++;
      if (/[.,;:!?]/.test((parts[end - 1] as Parts).tail)) break;
    }
    const groups = parts.slice(start, end).map(whole);
    if (end > start && isDictated(groups, parts[start - 1]?.core ?? '')) {
      for (let at = start; at < end; at++) found[at] = at === end - 1 ? 'last' : 'inside';
    }
    start = Math.max(start, end - 1);
  }
  return found;
}

/** Where an account number ends that begins at a word; `start` if none does. */
function ibanEnd(parts: readonly Parts[], start: number): number {
  if (!IBAN_HEAD.test(parts[start]?.core ?? '')) return start;
  let end = start + 1;
  // Only the second group may be letters alone: the bank's.
  const isGroup = (core: string): boolean => IBAN_GROUP.test(core) && (/\d/.test(core) || end === start + 1);
  while (end < parts.length && isGroup(parts[end]?.core ?? '')) {
    end++;
    if (/[.,;:!?]/.test(parts[end - 1]?.tail ?? '')) break;
  }
  return end - start >= 4 ? end : start;
}

/** With its brackets, which are part of a telephone number. */
function whole({ lead, core, tail }: Parts): string {
  const opened = lead.endsWith('(') ? `(${core}` : core;
  return tail.startsWith(')') && opened.startsWith('(') ? `${opened})` : opened;
}

function isDictated(groups: readonly string[], before: string): boolean {
  const text = groups.join(' ');
  const digits = text.replace(/\D/g, '').length;
  if (digits < 6 || digits > 19) return false;
  if (/^\d{4}[-./]\d{2}[-./]\d{2}$/.test(text) || /^\d{1,2}[-./]\d{1,2}[-./](?:\d{2}|\d{4})$/.test(text)) return false;
  if (/^(?:\d{1,3}\.){3}\d{1,3}$/.test(text)) return false;
  if (/^\+|\(0\)/.test(text) || TELEPHONE.test(before)) return true;
  if (digits < 7) return false;
  // "020 7946 0958", "(202) 555-0173", "555-0173", "4111 1111 1111 1111"; not "2,000 1000 500".
  const isNational = /^\(?0\d/.test(text) && digits >= 9;
  const isAmerican = /^(?:1[-. ])?(?:\(?\d{3}\)?[-. ])?\d{3}[-. ]\d{4}$/.test(text);
  const isCard = groups.length >= 3 && groups.every((group) => /^\d{4}$/.test(group));
  const isSpanish = groups.length === 3 && groups.every((group) => /^\d{3}$/.test(group)) && /^[6-9]/.test(text);
  // "91 123 45 67", "612 34 56 78", "55 1234 5678", "123-45-6789", "112-4567890-1234567".
  const isPersonal =
    /^[6-9]\d(?:\d \d{2}| \d{3})(?: \d{2}){2}$|^\d{2} \d{4} \d{4}$|^\d{3}-\d{2}-\d{4}$/.test(text) ||
    (digits >= 10 && /^\d{2,7}(?:-\d{2,7}){2,4}$/.test(text));
  return isNational || isAmerican || isCard || isSpanish || isPersonal;
}

/** The digits of a part of a telephone number, by group. "(0)" behind the country's number is not dialled. */
export function digitGroups(core: string, before: string): string[] {
  if (/[A-Z]/.test(core)) return [core];
  const trunk = /^\(?0\)(\d+)$/.exec(core)?.[1];
  if (trunk !== undefined) return [before.startsWith('+') ? trunk : `0${trunk}`];
  return core.split(/\D+/).filter((group) => group !== '');
}

/**
 * The groups of a country in which an ungrouped telephone number is said, the country's code first; null for what has
 * groups already, or is no number of that country.
 */
export function nationalGroups(core: string, country: string): string[] | null {
  if (!/^(?:\+\d{8,15}|0\d{6,14}|[2-9]\d{9})$/.test(core)) return null;
  const number = parsePhoneNumberFromString(core, country as CountryCode);
  if (number?.isPossible() !== true) return null;
  const groups = core.startsWith('+') ? number.formatInternational() : number.formatNational();
  return groups.split(/\D+/).filter((group) => group !== '');
}

const GROUP_HEAD = /^(?:[("'«]*[-−–]?|[€$£])[1-9]\d{0,2}$/u;
const GROUP_TAIL = /^(\d{3})([.,;:!?)»"']*|,\d+[.,;:!?)»"']*|[€$£%][.,;:!?)]*)$/u;

/** "1 000 000" as one number: French and Spanish part thousands by spaces. What is dictated is left alone. */
export function joinThousands(words: readonly SpokenWord[]): SpokenWord[] {
  const joined = words.map((word) => ({ ...word }));
  const dictated = dictatedWords(words.map(({ spoken }) => partsOf(spoken)));
  for (let start = 0; start < joined.length; start++) {
    const head = joined[start] as SpokenWord;
    if (!GROUP_HEAD.test(head.spoken) || (dictated[start] ?? null) !== null) continue;
    const before = joined[start - 1]?.spoken ?? '';
    if (/\d$/.test(before)) continue;
    let end = start + 1;
    while (end < joined.length && GROUP_TAIL.test(joined[end]?.spoken ?? '')) {
      end++;
      if (!/^\d{3}$/.test(joined[end - 1]?.spoken ?? '')) break;
    }
    if (end - start < 2) continue;
    head.spoken = joined
      .slice(start, end)
      .map(({ spoken }) => spoken)
      .join('');
    for (const word of joined.slice(start + 1, end)) word.spoken = '';
    start = end - 1;
  }
  return joined;
}

/** Weekdays of the four languages, in full or short. */
const WEEKDAY =
  /^(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tues?|Wed|Thu|Thurs?|Fri|Sat|Sun|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|Mo|Di|Mi|Do|Fr|Sa|So|(?:[Ll]un|[Mm]ar|[Mm]ercre|[Jj]eu|[Vv]endre|[Ss]ame)di|[Dd]imanche|[Ll]unes|[Mm]artes|[Mm]iércoles|[Jj]ueves|[Vv]iernes|[Ss]ábado|[Dd]omingo|[Ll]un|[Mm]ar|[Mm]er|[Jj]eu|[Vv]en|[Ss]am|[Dd]im|[Mm]ié|[Jj]ue|[Vv]ie|[Ss]áb|[Dd]om)\.?$/u;
const TIME = /^(?:[01]?\d|2[0-4])(?:[:.h][0-5]\d|h)?(?:[ap]m)?$/iu;
const COUNT = /^[1-9]\d{0,3}\.?$/u;
const CLOCK = /^(?:Uhr|h|a\.?m|p\.?m)\b/u;

/** Of a time in two words: "9 a.m.", "9 Uhr". */
const CLOCK_WORD = /^(?:[ap]\.?m\.?|h|hs|Uhr)$/iu;

/**
 * "9am - 5pm" as one word: a dash between two times, weekdays or numbers is no pause.
 * @param to what is said for a dash between times of several words, "9 a.m. - 5 p.m."
 */
export function joinRanges(words: readonly SpokenWord[], to: string): SpokenWord[] {
  const joined = words.map((word) => ({ ...word }));
  for (const [at, { text }] of joined.entries()) {
    const [first, last] = [joined[at - 1], joined[at + 1]];
    if (!/^[-–]$/u.test(text) || first === undefined || last === undefined) continue;
    const next = joined[at + 2]?.spoken ?? '';
    const from = first.spoken.replace(/,$/u, '');
    const until = last.spoken.replace(/[,;:!?)]+$|(?<=\d)\.$/u, '');
    if (CLOCK_WORD.test(from) && TIME.test(joined[at - 2]?.spoken ?? '') && TIME.test(until)) {
      first.spoken = from;
      (joined[at] as SpokenWord).spoken = to;
      continue;
    }
    const isAscending = Number.parseInt(from, 10) < Number.parseInt(until, 10) || CLOCK.test(next);
    const isTimes = TIME.test(from) && TIME.test(until) && (isAscending || !/^\d+$/.test(from + until));
    // Telephone numbers have groups of different lengths.
    const isLong = [from, until].map((end) => /^\d{4}$/.test(end));
    const isCounts = COUNT.test(from) && COUNT.test(until) && isAscending && isLong[0] === isLong[1];
    const isDays = WEEKDAY.test(from) && WEEKDAY.test(until);
    if (!(isTimes || isCounts || isDays) || next.startsWith('=')) continue;
    // The stop of "Fri." ends no sentence where that goes on.
    const goesOn = isDays && next !== '' && !/^\p{Lu}/u.test(next);
    first.spoken = `${from}-${goesOn ? last.spoken.replace(/\.$/u, '') : last.spoken}`;
    last.spoken = '';
  }
  return joined;
}
