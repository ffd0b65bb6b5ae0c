import { spokenNumber, spokenOrdinal } from '../../../../base/spoken-number.js';
import { englishSpeller, romanValue, sayNumber, type Speller } from './numbers.js';
import { sayEnglishDate, sayYear, yearRule } from './english-dates.js';
import { abbreviation, acronym, code, digitByDigit, title } from './english-letters.js';
import { sayMoney } from './english-money.js';
import { attachedUnit, unitAfterNumber } from './english-units.js';
import { digitGroups, nationalGroups, type SpeechRule } from './place.js';

const FRACTIONS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  2: ['half', 'halves'],
  3: ['third', 'thirds'],
  4: ['quarter', 'quarters'],
};
const EMAIL = /^([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})$/u;
const HOST =
  /^[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.(?:com|org|net|io|dev|ai|app|edu|gov|info|biz|shop|co|uk|us|ca|au|nz|ie|in|de|fr|es|eu|tv|me)$/iu;
/** What is said digit by digit from four digits on. */
const CODES =
  /^(?:code|pin|number|order|reference|account|confirmation|ticket|invoice|extension|id|flight|booking|case|#)$/i;

const SYMBOLS: readonly [RegExp, string][] = [
  [/(?<![\w.])[-−](?=\d)/gu, 'minus '],
  [/°\s?C\b/gu, ' degrees Celsius '],
  [/°\s?F\b/gu, ' degrees Fahrenheit '],
  [/°/gu, ' degrees '],
  [/&/gu, ' and '],
  [/\+\+/gu, ' plus plus '],
  [/±/gu, ' plus or minus '],
  [/\+/gu, ' plus '],
  [/=/gu, ' equals '],
  [/(?<=\d)[×x](?=\d)/gu, ' times '],
  [/÷/gu, ' divided by '],
  [/#(?=\d)/gu, ' number '],
  [/@/gu, ' at '],
  [/~(?=\d)/gu, ' about '],
  [/§/gu, ' section '],
  [/(?<=^\d{1,3}):(?=\d{1,3}$)/gu, ' to '],
  [/(?<=\d)(?=[½¼¾⅓⅔])/gu, ' and '],
  [/½/gu, ' one half '],
  [/¼/gu, ' one quarter '],
  [/¾/gu, ' three quarters '],
  [/⅓/gu, ' one third '],
  [/⅔/gu, ' two thirds '],
];

/** Where a date's day is written first, and "one hundred and five" is said. */
const BRITISH = new Set(['GB', 'IE', 'AU', 'NZ', 'IN', 'ZA']);

/** Rules for English text, in order. No digits are left in what they say. */
export function englishRules(region: string): readonly SpeechRule[] {
  const isAmerican = region === '' || region === 'US';
  const speller = englishSpeller(BRITISH.has(region));
  const date: SpeechRule = (place) => sayEnglishDate(place, !isAmerican);
  const dictated: SpeechRule = ({ core, before, dictated: place }) => {
    if (place === null && !(isAmerican && /^[2-9]\d\d[2-9]\d{6}$/.test(core))) return null;
    const plus = core.startsWith('+') ? 'plus ' : '';
    const groups = nationalGroups(core, isAmerican ? 'US' : region) ?? digitGroups(core, before);
    return `${plus}${groups.map(digitByDigit).join(', ')}${place === 'inside' ? ',' : ''}`;
  };
  const rules = [
    address, dictated, dotted, yearRule, date, time, sayMoney, attachedUnit, fraction, range, unitAfterNumber, title, abbreviation,
    acronym, longDigits, roomNumber, roman, code, symbols, ({ core }) => core,
  ] as const satisfies readonly SpeechRule[]; // prettier-ignore
  return rules.map((rule) => (place) => {
    const said = rule(place);
    return said === null ? null : inWords(said, speller);
  });
}

/** Spells out every number in what is said: "23rd", "50%", "3.5", "-5", "1,000". */
function inWords(text: string, speller: Speller): string {
  if (!/\d/.test(text)) return text;
  return text
    .replace(/\b(\d[\d,]*)(?:st|nd|rd|th)\b/gu, (_whole, digits: string) =>
      speller.ordinal(Number(digits.replaceAll(',', ''))),
    )
    .replace(/%/gu, ' percent')
    .replace(/(?<=\d)\.(?=$|\s)/gu, '. ')
    .replace(
      /((?<![\p{L}\d])[-−])?\d(?:[\d,]*\d)?(?:\.\d+)?/gu,
      (digits: string, _minus: unknown, at: number, all: string) => {
        const said =
          sayNumber(digits, speller) ??
          digits
            .split(/\D/u)
            .map((run) => (run === '' ? '' : (sayNumber(run, speller) ?? run)))
            .join(', ');
        const isGlued = (letter: string | undefined): string =>
          letter !== undefined && /\p{L}/u.test(letter) ? ' ' : '';
        return `${isGlued(all[at - 1])}${said}${isGlued(all[at + digits.length])}`;
      },
    )
    .trim();
}

/** "Room 302", "Suite 1205". */
const roomNumber: SpeechRule = ({ core, before }) => {
  const [, head = '', tail = ''] = /^(\d{1,2})(\d\d)$/.exec(core) ?? [];
  if (head === '' || !/^(?:room|suite|apartment|apt|unit|gate|bus|route|highway)$/i.test(before)) return null;
  const rest =
    tail === '00' ? 'hundred' : tail.startsWith('0') ? `oh ${spokenNumber(Number(tail))}` : spokenNumber(Number(tail));
  return `${spokenNumber(Number(head))} ${rest}`;
};

const RULERS =
  /^(?:Henry|Louis|George|Elizabeth|Charles|Edward|William|James|Mary|Richard|Philip|Paul|Pius|Benedict|Frederick|Alexander|Peter|Catherine|Nicholas)$/;
const NUMBERED =
  /^(?:chapter|part|act|volume|book|war|phase|stage|type|section|article|level|class|title|bowl|rocky|apollo|schedule|grade|tier)$/i;

/** "Henry VIII", "World War II", "Chapter IV". */
const roman: SpeechRule = ({ core, before }) => {
  const value = romanValue(core);
  if (value === 0) return null;
  if (RULERS.test(before) && core !== 'I') return `the ${spokenOrdinal(value)}`;
  return NUMBERED.test(before) ? spokenNumber(value) : null;
};

const address: SpeechRule = ({ core, isAddress }) => {
  const dots = (name: string): string =>
    name.replaceAll('.', ' dot ').replaceAll('_', ' underscore ').replaceAll('-', ' dash ');
  const email = EMAIL.exec(core);
  if (email !== null) return `${dots(email[1] ?? '')} at ${dots(email[2] ?? '')}`;
  return isAddress || HOST.test(core) ? dots(core) : null;
};

/** Addresses of machines and versions: "192.168.0.1", "v2.0.1". */
const dotted: SpeechRule = ({ core }) => {
  if (/^(?:\d{1,3}\.){3}\d{1,3}$/.test(core)) return core.replaceAll('.', ' dot ');
  const version = /^(v|V)?(\d{1,4}(?:\.\d{1,4})+)$/.exec(core);
  const [, letter, numbers = ''] = version ?? [];
  if (version === null || (letter === undefined && numbers.split('.').length < 3)) return null;
  // "23.11.2026" is a date.
  if (letter === undefined && /^\d{1,2}\.\d{1,2}\.\d{4}$/.test(numbers)) return null;
  return `${letter === undefined ? '' : 'version '}${numbers.replaceAll('.', ' point ')}`;
};

/** "21:00", "9am", "7:05". */
const time: SpeechRule = ({ core, after }) => {
  const [, hours = '', minutes, half] = /^(\d{1,2})(?::([0-5]\d))?\s?([ap]\.?m\.?)?$/i.exec(core) ?? [];
  if (hours === '' || (minutes === undefined && half === undefined)) return null;
  const hour = Number(hours);
  if (hour > 24) return null;
  const isNamed = half !== undefined || /^[ap]\.?m$/i.test(after);
  const shown = hour % 12 === 0 ? 12 : hour % 12;
  const tail = minutes === undefined || minutes === '00' ? '' : ` ${sayMinutes(minutes)}`;
  if (isNamed)
    return `${spokenNumber(shown)}${tail}${half === undefined ? '' : half.toLowerCase().startsWith('a') ? ' AM' : ' PM'}`;
  if (hour >= 13 || hour === 0) {
    if (hour % 24 === 0 && tail === '') return 'midnight';
    return `${spokenNumber(shown)}${tail} ${hour % 24 < 12 ? 'AM' : 'PM'}`;
  }
  return tail === '' ? `${spokenNumber(shown)} o'clock` : `${spokenNumber(shown)}${tail}`;
};

function sayMinutes(minutes: string): string {
  return minutes.startsWith('0') ? `oh ${spokenNumber(Number(minutes))}` : spokenNumber(Number(minutes));
}

const fraction: SpeechRule = ({ core, before }) => {
  const [, above = '', below = ''] = /^(\d{1,2})\/(\d{1,2})$/.exec(core) ?? [];
  const [one, many] = [Number(above), Number(below)];
  if (above === '' || one < 1 || many < 2 || many > 32 || one >= many) return null;
  const named = FRACTIONS[many]?.[one === 1 ? 0 : 1];
  const part = named ?? `${spokenOrdinal(many)}${one === 1 ? '' : 's'}`;
  return `${/^\d+$/.test(before) ? 'and ' : ''}${spokenNumber(one)} ${part}`;
};

/** "9am-5pm", "Mon-Fri", "10-15", "2024–2026": both ends by the rules for one. */
const range: SpeechRule = (place) => {
  const [, from = '', to = ''] = /^([^-–—]{1,20})[-–—]([^-–—]{1,20})$/u.exec(place.core) ?? [];
  if (from === '') return null;
  const end = (core: string, after: string): string | null => {
    const one = { ...place, core, after, tail: '' };
    return time(one) ?? sayMoney(one) ?? weekday(core) ?? attachedUnit(one) ?? yearIn(core, from, to) ?? plain(core);
  };
  const [first, last] = [end(from, ''), end(to, place.after)];
  return first === null || last === null ? null : `${first} to ${last}`;
};

function weekday(core: string): string | null {
  if (/^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day$/.test(core)) return core;
  return abbreviation({ ...ALONE, core: core.replace('.', ''), tail: '.' });
}

function yearIn(core: string, from: string, to: string): string | null {
  const isYear = (text: string): boolean => /^(?:1[1-9]|20)\d\d$/.test(text);
  return isYear(from) && (isYear(to) || /^\d\d$/.test(to)) && isYear(core) ? sayYear(Number(core)) : null;
}

function plain(core: string): string | null {
  return /^(?:0|[1-9]\d{0,3})(?:\.\d+)?%?$/.test(core) ? core : null;
}

const ALONE = { before: '', beforeThat: '', after: '', afterThat: '', begins: true, dictated: null, isAddress: false };

/** Ungrouped digits that are too long to read as one number. */
const longDigits: SpeechRule = ({ core, before, beforeThat }) => {
  const digits = /^#?(\d{3,})$/.exec(core)?.[1];
  if (digits === undefined) return null;
  const hasContext = CODES.test(before) || CODES.test(beforeThat) || core.startsWith('#');
  const isPostal =
    /^\d{5}$/.test(digits) &&
    /^(?:[A-Z]{2}|zip|code|box)$/i.test(before) &&
    !/^(?:in|or|of|to|by|at|we|is)$/.test(before);
  const isLong = digits.length >= 7 && !digits.endsWith('000');
  if (!(digits.startsWith('0') || isLong || isPostal || (hasContext && digits.length >= 4))) return null;
  return `${core.startsWith('#') ? 'number ' : ''}${digitByDigit(digits)}`;
};

const symbols: SpeechRule = ({ core }) => {
  let said = core;
  for (const [symbol, name] of SYMBOLS) said = said.replace(symbol, name);
  return said === core ? null : said.trim();
};
