import { digitGroups, nationalGroups, OWN_STOP, type SpeechRule, type WordPlace } from './place.js';
import { type Gender, parseNumber, romanValue, sayDigits, sayNumber } from './numbers.js';
import { type Currency, frenchWording, germanWording, type Noun, spanishWording, type Wording } from './wordings.js';

/** Rules for German, French and Spanish text, which is written alike: "12,50 €", "23.11.2026", "19:30". */

const CODES: Readonly<Record<string, string>> = { EUR: '€', USD: '$', GBP: '£', CHF: 'CHF', MXN: 'MXN', JPY: '¥' };
const AMOUNT = /^[-−–]?\d[\d.,'’\u00a0\u202f]*$/u;
/** "$20", of which a code or a name behind says the currency: "$20 MXN". */
const SIGNED = /^-?[€$£¥]\d[\d.,]*$/u;
const RANGE = /^[-−–]?\d[\d.,]*[-–—]\d[\d.,]*$/u;
const EMAIL = /^[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/u;
const HOST =
  /^[\p{L}\d-]{1,63}(?:\.[\p{L}\d-]{1,63}){0,6}\.(?:com|org|net|io|eu|de|at|ch|fr|be|es|mx|ar|cl|co|info|shop|app|dev|ai|tv|ca|lu|cat)$/iu;
const VULGAR: Readonly<Record<string, readonly [number, number]>> = {
  '½': [1, 2], '¼': [1, 4], '¾': [3, 4], '⅓': [1, 3], '⅔': [2, 3], '⅛': [1, 8],
}; // prettier-ignore

/** Rules in order; undefined for other languages. */
export function europeanRules(language: string, region: string): readonly SpeechRule[] | undefined {
  const wording =
    language === 'de'
      ? germanWording(region)
      : language === 'fr'
        ? frenchWording(region)
        : language === 'es'
          ? spanishWording(region)
          : undefined;
  return wording === undefined ? undefined : rulesOf(wording);
}

function rulesOf(wording: Wording): readonly SpeechRule[] {
  const bind =
    (rule: (place: WordPlace, wording: Wording) => string | null): SpeechRule =>
    (place) =>
      rule(place, wording);
  const ordinal: SpeechRule = ({ core, tail, before, after }) => {
    const said = wording.ordinal(core, tail, before, after);
    return said === null ? null : said + OWN_STOP;
  };
  const simple = [date, time, money, fraction, unit, percent].map(bind);
  return [
    bind(address), bind(dictated), bind(dotted), ...simple, ordinal, bind(range), bind(roman), bind(code), bind(abbreviated),
    bind(initials), bind(rowOfDigits), bind(counted), bind(symbols),
  ]; // prettier-ignore
}

function amountOf(text: string, { speller }: Wording): number | null {
  const parsed = parseNumber(text, speller.decimal);
  return parsed === null ? null : Number(`${parsed.whole}.${parsed.decimals}`);
}

function nameOf([one, many]: Noun | Currency, amount: string, wording: Wording): string {
  const value = amountOf(amount.replace(/^[-−–]/u, ''), wording) ?? 2;
  // French counts in the plural from two on: "1,5 kilogramme".
  return value === 1 || (wording.speller.point === 'virgule' && value < 2 && value > 0) ? one : many;
}

/** The next word, if no punctuation stands between. */
function nextOf({ tail, after }: WordPlace): string {
  return /[.,;:!?]/.test(tail) ? '' : after;
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** By sign or code: "€", "EUR". */
function signOf(text: string, { currencies }: Wording): Currency | undefined {
  return own(currencies, text) ?? own(currencies, own(CODES, text) ?? '');
}

/** By its name too: "Euro". */
function currencyOf(text: string, wording: Wording): Currency | undefined {
  const isName = ([one, many]: Currency): boolean => one === text || many === text;
  return signOf(text, wording) ?? Object.values(wording.currencies).find(isName);
}

function say(text: string, wording: Wording, agreement: Gender = 'alone'): string {
  return sayNumber(text, wording.speller, agreement) ?? text;
}

function address({ core, isAddress }: WordPlace, { dot, at, dash, underscore }: Wording): string | null {
  if (!isAddress && !HOST.test(core) && !EMAIL.test(core)) return null;
  const name = (text: string): string =>
    text.replaceAll('.', ` ${dot} `).replaceAll('_', ` ${underscore} `).replaceAll('-', ` ${dash} `);
  return core.split('@').map(name).join(` ${at} `);
}

/** "192.168.0.1", "v2.0.1". */
function dotted({ core }: WordPlace, wording: Wording): string | null {
  const { dot, version, speller } = wording;
  const parts = (text: string): string =>
    text
      .split('.')
      .map((part) => say(part, wording))
      .join(` ${dot} `);
  if (/^(?:\d{1,3}\.){3}\d{1,3}$/.test(core) && !/^\d{1,3}(?:\.\d{3}){3}$/.test(core)) return parts(core);
  const [, letter, numbers = ''] = /^(v|V)?(\d{1,4}(?:\.\d{1,4})+)$/.exec(core) ?? [];
  if (numbers === '') return null;
  if (letter !== undefined) return `${version} ${parts(numbers)}`;
  const isOther = /^\d{1,2}\.\d{1,2}\.\d{2,4}$/.test(numbers) || parseNumber(numbers, speller.decimal) !== null;
  return numbers.split('.').length < 3 || isOther ? null : parts(numbers);
}

/** Part of a telephone number: in French its pairs are numbers, elsewhere digits. */
function dictated({ core, before, dictated: place }: WordPlace, wording: Wording): string | null {
  if (place === null) return null;
  const { plus, speller, country } = wording;
  // Groups of four are an account's.
  const isFrench = speller.point === 'virgule' && !/^[A-Z\d]{4}$/u.test(before);
  const groups = nationalGroups(core, country) ?? digitGroups(core, before);
  const said = groups.map((group) => {
    if (!isFrench || group.length > 3 || (group.length === 3 && group.startsWith('0')))
      return sayDigits(group, speller);
    return group.startsWith('0') ? sayDigits(group, speller) : speller.cardinal(Number(group));
  });
  return `${core.startsWith('+') ? `${plus} ` : ''}${said.join(', ')}${place === 'inside' ? ',' : ''}`;
}

/** "23.11.2026", "23/11/2026", "2026-11-23", "23.11.", "3 mai", "1er mai". */
function date(place: WordPlace, wording: Wording): string | null {
  const { core, tail, before } = place;
  const { months } = wording;
  const [, isoYear, isoMonth, isoDay, isoHours, isoMinutes] =
    /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2}).{0,20})?$/.exec(core) ?? [];
  if (isoDay !== undefined) {
    const name = months[Number(isoMonth) - 1];
    if (name === undefined || Number(isoDay) < 1 || Number(isoDay) > 31) return null;
    const said = wording.date(Number(isoDay), name, isoYear ?? '', before);
    return isoHours === undefined ? said : `${said}, ${wording.time(Number(isoHours), Number(isoMinutes), false)}`;
  }
  const [, day, mark, month, year] = /^(\d{1,2})([./-])(\d{1,2})(?:\2(\d{4}|\d{2}))?$/.exec(core) ?? [];
  if (day === undefined) return sayDayOfMonth(place, wording);
  const isShort = year === undefined;
  // Behind the other words a fraction is as likely: "ab 1/2 Liter".
  const isLed =
    /^(?:el|le|am|del|du)$/iu.test(before) ||
    (/^(?:au|al|dès|vom|zum|bis|ab)$/iu.test(before) && !/^(?:[12]\/3|[13]\/4|1\/2)$/.test(core));
  if (isShort && !(mark === '.' && tail.startsWith('.')) && !(mark === '/' && isLed)) return null;
  const name = months[Number(month) - 1];
  if (name === undefined || Number(day) < 1 || Number(day) > 31) return null;
  return wording.date(Number(day), name, isShort ? '' : year.length === 2 ? `20${year}` : year, before);
}

/** "1 mai" of French: the first of a month is ordinal, the others are not. Spanish and German have rules of their own. */
function sayDayOfMonth({ core, after }: WordPlace, { months, date: sayDate, speller }: Wording): string | null {
  if (speller.point !== 'virgule' || core !== '1' || !months.includes(after)) return null;
  return sayDate(1, '', '', '').trim();
}

function isHour(text: string): boolean {
  return /^(?:[01]?\d|2[0-4])(?::[0-5]\d)?$/.test(text);
}

/** "19:30", "19h30", "7.30 Uhr", and the clock word behind it. */
function time({ core, before, beforeThat, after }: WordPlace, wording: Wording): string | null {
  const { time: sayTime, clockWord, speller } = wording;
  const isTime = (text: string): boolean => /^(?:[01]?\d|2[0-4])[:.h][0-5]\d$/.test(text);
  if (clockWord.test(core)) return isTime(before) || isTime(/[-–](.+)$/u.exec(before)?.[1] ?? '') ? '' : null;
  if (core === 'm' && /^[ap]$/i.test(before) && isHour(beforeThat)) return '';
  const noon = /^([ap])\.?\s?m\.?$/i.exec(core) ?? (after === 'm' ? /^([ap])$/i.exec(core) : null);
  if (noon !== null && isHour(before) && speller.point !== 'virgule' && speller.point !== 'Komma') {
    const hour = Number(/^(\d{1,2})(?::\d{2})?$/.exec(before)?.[1] ?? -1);
    if (hour < 0) return null;
    const part =
      (noon[1] ?? '').toLowerCase() === 'a' ? 'de la mañana' : hour < 8 || hour === 12 ? 'de la tarde' : 'de la noche';
    return after === 'm' ? part + OWN_STOP : part;
  }
  const [, hours = '', mark = '', minutes = ''] = /^([01]?\d|2[0-4])(?:([:.h])([0-5]\d)|h)$/.exec(core) ?? [];
  if (hours === '' || (mark === '.' && !clockWord.test(after))) return null;
  if (minutes === '' && speller.point === 'Komma') return null;
  return sayTime(Number(hours), Number(minutes), minutes === '' || clockWord.test(after));
}

/** "12,50 €", "€ 20", "EUR 20", "-5 €", "5 Mio. €", "9,99 €/Monat". */
function money(place: WordPlace, wording: Wording): string | null {
  const { core, before, beforeThat, after, afterThat } = place;
  const { magnitudes, ofMagnitude } = wording;
  const [, bigSign, sign = core, perSign] = /^(Mds?|M|k)?([€$£])(?:\/(\p{L}{1,12}))?$/u.exec(core) ?? [];
  const symbol = currencyOf(sign, wording);
  if (symbol !== undefined) {
    const rate = perSign === undefined ? '' : `${wording.per} ${own(wording.units, perSign)?.[0] ?? perSign}`;
    if (bigSign !== undefined) return AMOUNT.test(before) ? rate : null;
    if (own(magnitudes, before) !== undefined && AMOUNT.test(beforeThat)) return ofMagnitude(symbol[1]);
    if (AMOUNT.test(before) || RANGE.test(before) || SIGNED.test(before)) return rate;
    if (signOf(core, wording) === undefined) return null;
    return AMOUNT.test(after) ? '' : symbol[1];
  }
  const size = own(magnitudes, core);
  if (size !== undefined && AMOUNT.test(before))
    return nameOf([...size, 'masculine'], before, wording) + (after === '' ? '' : OWN_STOP);
  const [, bigNext, signNext] = /^(Mds?|M|k)?([€$£])(?:\/\p{L}{1,12})?$/u.exec(nextOf(place)) ?? [];
  const next = signNext ?? nextOf(place);
  const [, lead, digits = '', ownBig, tail, per] =
    /^(-?[€$£¥])?(-?\d[\d.,'’\u00a0\u202f]*)([Mk])?([€$£¥])?(?:\/(\p{L}{1,12}))?$/u.exec(core) ?? [];
  if (digits === '' || !AMOUNT.test(digits)) return null;
  const minus = lead?.startsWith('-') === true ? '-' : '';
  const mark = lead?.replace('-', '') ?? tail;
  const big = ownBig ?? (mark === undefined ? bigNext : undefined);
  const beside =
    mark ??
    (currencyOf(next, wording) === undefined
      ? place.begins || AMOUNT.test(beforeThat) || signOf(before, wording) === undefined
        ? undefined
        : before
      : next);
  const named = lead !== undefined && currencyOf(next, wording) !== undefined ? next : beside;
  const currency = currencyOf(named ?? '', wording);
  if (currency !== undefined && amountOf(digits, wording) !== null) {
    const said =
      big === undefined
        ? sayAmount(minus + digits, currency, wording)
        : sayLarge(minus + digits, big, currency, wording);
    return per === undefined ? said : `${said} ${wording.per} ${own(wording.units, per)?.[0] ?? per}`;
  }
  const beforeSize =
    own(magnitudes, after) !== undefined &&
    (currencyOf(afterThat, wording) !== undefined || own(magnitudes, after)?.[0] !== after);
  if (!beforeSize || mark !== undefined) return null;
  return say(digits, wording, after.startsWith('M') && wording.speller.point === 'Komma' ? 'feminine' : 'masculine');
}

function sayLarge(digits: string, size: string, currency: Currency, wording: Wording): string {
  const names: Noun = [...(own(wording.magnitudes, size) ?? ['', '']), 'masculine'];
  const of = size === 'k' ? currency[1] : wording.ofMagnitude(currency[1]);
  return `${say(digits, wording, 'masculine')} ${nameOf(names, digits, wording)} ${of}`;
}

function sayAmount(digits: string, currency: Currency, wording: Wording): string {
  const parsed = parseNumber(digits, wording.speller.decimal);
  const [, many, gender, cent] = currency;
  if (parsed === null) return digits;
  const sign = parsed.minus ? `${wording.speller.minus} ` : '';
  const small = Number(parsed.decimals.padEnd(2, '0'));
  if (parsed.decimals.length > 2 || (small > 0 && cent === undefined)) return `${say(digits, wording)} ${many}`;
  if (parsed.whole === '0' && small > 0 && cent !== undefined) {
    return `${sign}${say(String(small), wording, cent[2])} ${cent[small === 1 ? 0 : 1]}`;
  }
  const of = /^[1-9]0{6,}$|000000$/.test(parsed.whole)
    ? wording.ofMagnitude(many)
    : nameOf(currency, parsed.whole, wording);
  const whole = `${sign}${say(parsed.whole, wording, gender)} ${of}`;
  return small === 0 ? whole : `${whole}${wording.centsAfter}${say(String(small), wording)}`;
}

/** "1/2", "3/4", "2 1/2", "½ Stunde", "2½". */
function fraction(place: WordPlace, wording: Wording): string | null {
  const { core, before } = place;
  const next = nextOf(place);
  if (/^\d{1,3}$/.test(core) && /^(?:1\/2|½)$/u.test(next)) return wording.andHalf(Number(core));
  if (/^(?:1\/2|½)$/u.test(core) && /^\d{1,3}$/.test(before) && !place.begins) return '';
  const [, whole = '', mark = ''] = /^(\d{0,3})([½¼¾⅓⅔⅛])$/u.exec(core) ?? [];
  const [, above = '', below = ''] = /^(\d{1,2})\/(\d{1,3})$/.exec(core) ?? [];
  const [one, many] = mark === '' ? [Number(above), Number(below)] : (VULGAR[mark] ?? [0, 0]);
  if (one < 1 || many < 2 || one >= many || (mark === '' && many > 12 && many !== 100)) return null;
  if (whole !== '')
    return many === 2
      ? wording.andHalf(Number(whole))
      : `${say(whole, wording)} ${wording.and} ${wording.fraction(one, many)}`;
  const noun = own(wording.units, next);
  return one === 1 && many === 2 ? wording.half(noun?.[2] ?? wording.genderOf(next)) : wording.fraction(one, many);
}

const ATTACHED = /^([-−–]?\d[\d.,]*)([^\d\s,.-][^\s]{0,5})$/u;

/** "5 km", "5km", "20°C", "-5 °C": the number takes the unit's gender, the unit the number's. */
function unit(place: WordPlace, wording: Wording): string | null {
  const { core, before, after, begins } = place;
  const { units } = wording;
  const [, number, name = ''] = ATTACHED.exec(core) ?? [];
  if (number !== undefined) {
    const found = own(units, name);
    return found === undefined || amountOf(number, wording) === null
      ? null
      : `${say(number, wording, found[2])} ${nameOf(found, number, wording)}`;
  }
  if (AMOUNT.test(core)) {
    const found = /[,;:!?]/.test(place.tail) ? undefined : own(units, after);
    return found === undefined || amountOf(core, wording) === null ? null : say(core, wording, found[2]);
  }
  // "20 ° C".
  if (/^[CF]$/.test(core) && before === '°') return core === 'C' ? 'Celsius' : 'Fahrenheit';
  const found = own(units, core);
  if (RANGE.test(before)) return found === undefined ? null : found[1];
  const isCounted = AMOUNT.test(before) || /^(?:1\/\d|\d\/\d{1,2}|[½¼¾⅓⅔])$/u.test(before);
  if (found === undefined || !isCounted || (begins && !/^\d/.test(before))) return null;
  return /^(?:1\/|[½¼¾⅓])/u.test(before) ? found[0] : nameOf(found, before, wording);
}

function percent(place: WordPlace, wording: Wording): string | null {
  const { core, before } = place;
  if (AMOUNT.test(core) && nextOf(place) === '%' && amountOf(core, wording) !== null)
    return say(core, wording, 'masculine');
  if (core === '%') return AMOUNT.test(before) ? wording.percent : null;
  if (core === '‰') return AMOUNT.test(before) ? 'Promille' : null;
  const number = /^([-−–+]?\d[\d.,]*)%$/u.exec(core)?.[1];
  if (number === undefined) return null;
  const plus = number.startsWith('+') ? `${wording.plus} ` : '';
  const bare = number.replace('+', '');
  if (amountOf(bare, wording) === null) return null;
  return `${plus}${say(bare, wording, 'masculine')} ${wording.percent}`;
}

/** "9-17", "9:00–17:30", "Mo-Fr", "20-30€": both ends by the rules for one. */
function range(place: WordPlace, wording: Wording): string | null {
  const [, from = '', to = ''] = /^([^-–—]{1,20})[-–—]([^-–—]{1,20})$/u.exec(place.core) ?? [];
  if (from === '') return null;
  const end = (core: string, isLast: boolean): string | null => {
    const one = {
      ...place,
      core,
      before: '',
      beforeThat: '',
      begins: true,
      ...(isLast ? {} : { tail: '', after: '', afterThat: '' }),
    };
    // "8.30-12.00 Uhr": the clock word is for both.
    const clock = !isLast && wording.clockWord.test(place.after) ? time({ ...one, after: place.after }, wording) : null;
    if (clock !== null) return clock;
    for (const rule of [time, money, unit, percent]) {
      const said = rule(one, wording);
      if (said !== null) return said;
    }
    const day = own(wording.weekdays, core.replace('.', ''));
    if (day !== undefined) return day;
    if (Object.values(wording.weekdays).includes(core)) return core;
    if (!/^\d{1,4}$/.test(core.replace(/[.,]/g, '')) || amountOf(core, wording) === null) return null;
    const isYear = /^(?:1[1-9]|20)\d\d$/.test(from) && /^(?:1[1-9]|20)?\d\d$/.test(to);
    return isYear
      ? wording.speller.year(Number(core))
      : say(core, wording, isLast ? agreementOf(one, wording) : 'alone');
  };
  const ordinals =
    /^\d{1,2}\.$/.test(from) && /^\d{1,2}$/.test(to)
      ? wording.ordinal(to, place.tail, place.before, place.after)
      : null;
  if (ordinals !== null)
    return `${wording.ordinal(from, '.', place.before, place.after) ?? ''} ${wording.to} ${ordinals}${OWN_STOP}`;
  const [first, last] = [end(from, false), end(to, true)];
  return first === null || last === null ? null : `${first} ${wording.to} ${last}`;
}

/** "Ludwig XIV.", "siglo XXI", "XXIe siècle". */
function roman({ core, before, after, tail }: WordPlace, wording: Wording): string | null {
  // Only French writes endings. A single L or C before one begins a word: "Le", "Ce".
  const ordinal = wording.speller.point === 'virgule' ? /^(?:(I)er|([VX]|[IVXLC]{2,7})(?:e|ème))$/u.exec(core) : null;
  const value = romanValue(ordinal === null ? core : (ordinal[1] ?? ordinal[2] ?? ''));
  if (value === 0) return null;
  if (ordinal !== null) return wording.speller.ordinal(value);
  const said = wording.roman(value, before, after, tail);
  return said !== null && wording.speller.point === 'Komma' && after !== '' ? said + OWN_STOP : said;
}

/** "LH 123", "BA2490", "A7-93KX", "DE89": letters, and digits one by one from three on. */
function code({ core }: WordPlace, wording: Wording): string | null {
  if (!/^(?=.*\p{Lu})(?=.*\d)[\p{Lu}\d]{1,34}(?:-[\p{Lu}\d]{1,10}){0,4}$/u.test(core)) return null;
  const runs = core.match(/\d+|\p{Lu}+|-/gu) ?? [];
  if (runs.some((run) => /^\p{Lu}{5,}$/u.test(run))) return null; // a word: "COVID-19"
  const digit = (run: string): string =>
    run.length <= 2 && !run.startsWith('0') && runs.length <= 3 ? say(run, wording) : sayDigits(run, wording.speller);
  return runs
    .flatMap((run) => (run.length > 6 ? (run.match(/.{1,4}/gu) ?? []).join(' - ').split(' ') : [run]))
    .map((run) => (run === '-' ? ',' : /\d/.test(run) ? digit(run) : [...run].join(' ')))
    .join(' ')
    .replaceAll(' ,', ',');
}

function abbreviated({ core, tail, before, after }: WordPlace, wording: Wording): string | null {
  const { weekdays, abbreviations, short } = wording;
  const pair = PAIRS.find(
    ([first, second]) => (core === first && after === second) || (before === first && core === second),
  );
  if (pair !== undefined)
    return core === pair[0] ? pair[2] + OWN_STOP : pair[3] + (/^\p{Lu}/u.test(core) || after === '' ? '' : OWN_STOP);
  const bare = own(short, core);
  if (bare !== undefined) return NEVER_LAST.test(core) && after !== '' ? bare + OWN_STOP : bare;
  if (!tail.startsWith('.'))
    return own(weekdays, core) !== undefined && /^\d/.test(after) ? (own(weekdays, core) ?? null) : null;
  const street = /^(.*)(str)$/iu.exec(core);
  if (street !== null && core.length > 3 && wording.speller.point === 'Komma')
    return `${street[1] ?? ''}straße${/^\d/.test(after) ? OWN_STOP : ''}`;
  // "Fr. Klein" is a woman, "Fr. um 9" a day.
  const day = own(weekdays, core);
  const full = (/^\p{Lu}/u.test(after) ? undefined : day) ?? own(abbreviations, core) ?? day;
  if (full === undefined) return null;
  return NEVER_LAST.test(core) && after !== '' ? full + OWN_STOP : full;
}

/** Abbreviations of two words. */
const PAIRS: readonly (readonly [string, string, string, string])[] = [
  ['z', 'B', 'zum', `Beispiel${OWN_STOP}`], ['d', 'h', 'das', 'heißt'], ['u', 'a', 'unter', 'anderem'], ['v', 'a', 'vor', 'allem'],
  ['p', 'ex', 'par', 'exemple'], ['p', 'ej', 'por', 'ejemplo'], ['EE', 'UU', 'Estados', 'Unidos'],
]; // prettier-ignore

/** Abbreviations that end no sentence. */
const NEVER_LAST =
  /^(?:Dr|Dra|Prof|Hr|Fr|St|Ste|Sr|Sra|Srta|Sres|M|MM|Me|D|Dña|Ing|Lic|Nr|Tel|Tél|tél|tel|Abs|Art|Kap|vgl|z\.B|d\.h|u\.a|bzw|ca|inkl|exkl|zzgl|ggf|evtl|max|mind|min|Av|av|Avda|Bd|bd|env|núm|Núm|pág|p|cf|p\.ex|p\.ej|Mio|Mrd|Tsd|C|c|Sta|Sto|aprox|geb)$/u;

/** Capitals without a vowel cannot be read as a word: "SMS", "PDF". */
function initials({ core, before, after }: WordPlace, wording: Wording): string | null {
  const isShouted = [before, after].some((word) => /^\p{Lu}{4,}$/u.test(word));
  const isFlight = /^(?:flug|vol|vuelo)$/iu.test(before) && /^\d/.test(after) && /^\p{Lu}{2,3}$/u.test(core);
  const isLetters = isFlight || /^[B-DF-HJ-NP-TV-XZ]{2,5}$/u.test(core) || wording.initials.has(core);
  return isLetters && !isShouted ? [...core].join(' ') : null;
}

/** Rows of digits that are no number: codes, and what is too long to read as one. */
function rowOfDigits({ core, before, beforeThat }: WordPlace, wording: Wording): string | null {
  const [, mark = '', row = ''] = /^(#)?(\d{3,})$/.exec(core) ?? [];
  if (row === '') return null;
  const isCode = [before, beforeThat].some((word) => wording.codes.test(word)) || mark !== '';
  const isLong = row.length >= 8 && !row.endsWith('000');
  if (!row.startsWith('0') && !isLong && !(isCode && row.length >= 4)) return null;
  return `${mark === '' ? '' : `${wording.number} `}${sayDigits(row, wording.speller)}`;
}

function agreementOf(place: WordPlace, wording: Wording): Gender {
  if (wording.labels.test(place.before)) return 'alone';
  if (wording.clockWord.test(place.after)) return wording.speller.point === 'Komma' ? 'masculine' : 'feminine';
  return wording.genderOf(nextOf(place));
}

/** Any other number: it agrees with what it counts. */
function counted(place: WordPlace, wording: Wording): string | null {
  const { core, before } = place;
  const isYear = /^1[1-9]\d\d$/.test(core) && wording.years !== null && wording.years.test(before);
  if (isYear && wording.genderOf(nextOf(place)) === 'alone') return wording.speller.year(Number(core));
  const [, plus = '', number = '', rest = ''] =
    /^(\+|#)?([-−–]?\d[\d.,'’\u00a0\u202f]*)(\p{L}[\p{L}-]*|-\p{L}[\p{L}-]*)?$/u.exec(core) ?? [];
  if (number === '') return null;
  const said = sayNumber(number, wording.speller, rest === '' ? agreementOf(place, wording) : 'masculine');
  if (said === null) return null;
  const sign = plus === '' ? '' : `${plus === '+' ? wording.plus : wording.number} `;
  // "5er"; not "12a".
  const isEnding = wording.speller.point === 'Komma' && rest.length > 1;
  return sign + said + (rest === '' || rest.startsWith('-') || isEnding ? rest : ` ${rest}`);
}

function symbols({ core, before, after }: WordPlace, wording: Wording): string | null {
  if (/^[x×]$/u.test(core) && /^\d/.test(before) && /^\d/.test(after)) return wording.times;
  const { plus, and, at, times, equals, paragraph, speller, percent: hundred } = wording;
  const numbers = (text: string): string => text.replace(/\d[\d.,]*\d|\d/gu, (number) => ` ${say(number, wording)} `);
  const names: readonly [RegExp, string][] = [
    [/&/gu, and], [/(?<=\d)\s?[×x]\s?(?=\d)|×/gu, times], [/=/gu, equals], [/§/gu, paragraph], [/\+/gu, plus], [/@/gu, at],
    [/(?<=\d)\/(?=\d)/gu, wording.slash], [/−/gu, speller.minus], [/%/gu, hundred],
  ]; // prettier-ignore
  let said = core;
  for (const [symbol, name] of names) said = said.replace(symbol, ` ${name} `);
  if (/\d/.test(said)) said = numbers(said);
  return said === core ? null : said.trim();
}
