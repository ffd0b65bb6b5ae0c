import type { DataValue, FlowData } from '../../agent/flow/steps.js';
import { answerOf } from '../../base/spoken/answer.js';
import { dateAt, type DayNumber, isoDate, parseIsoDate, spokenDate } from '../../base/spoken/date.js';
import { digitsAt, spokenDigits } from '../../base/spoken/digits.js';
import { numberAt } from '../../base/spoken/number.js';
import { clockText, parseClock, spokenTime, timeAt } from '../../base/spoken/time.js';
import { utteranceWords, type Word } from '../../base/spoken/words.js';

/** Values that the steps of a flow ask for: what counts as one, in which form it is kept, and how it is read back. */

export type CheckedData =
  | { readonly ok: true; readonly value: DataValue; readonly spoken: string }
  /** `reason`: a sentence, for the model and for the user. */
  | { readonly ok: false; readonly reason: string };

/** A card number that is known outside of the conversation only: its last four digits. */
const CARD = /\[card number ending in (\d{4})\]/;
/** In place of digits of a card number that do not fit the check digit. */
export const WRONG_CARD = '[card number that is not valid]';
/** The local part as dot-atoms (RFC 5321, section 4.1.2), the domain with at least one dot. */
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;
/** Digits of a phone number with its country code: at most 15 (ITU-T E.164, section 6.2.1). */
const PHONE_DIGITS = /^\+?\d{6,15}$/;
const MAX_TEXT = 2_000;
const MAX_NAME = 100;

/** What stands for a card number in everything that is stored or sent. */
export function cardToken(digits: string): string {
  return `[card number ending in ${digits.slice(-4)}]`;
}

/** @param today at the place of the call; null = unknown */
export function checkData(data: FlowData, raw: unknown, today: DayNumber | null): CheckedData {
  if (typeof raw !== 'string' && typeof raw !== 'number' && typeof raw !== 'boolean') {
    return refused('That is no value.');
  }
  const text = String(raw).trim();
  if (text === '') return refused('That is empty.');
  return CHECKS[data.type](data, text, today);
}

const CHECKS: Readonly<
  Record<FlowData['type'], (data: FlowData, text: string, today: DayNumber | null) => CheckedData>
> = {
  text: (_data, text) => taken(text.slice(0, MAX_TEXT)),
  name: (_data, text) => {
    const name = text.replaceAll(/\s+/g, ' ');
    if (!/\p{L}/u.test(name) || /\d/.test(name)) return refused('That is not a name.');
    return name.length <= MAX_NAME ? taken(name) : refused('That is too long for a name.');
  },
  number: checkNumber,
  date: checkDate,
  time: checkTime,
  email: (_data, text) => checkEmail(text),
  phone: checkPhone,
  card: (_data, text) => {
    const last = CARD.exec(text)?.[1];
    if (last === undefined) return refused('That is not a valid card number.');
    return { ok: true, value: cardToken(last), spoken: spokenLast(last) };
  },
  yes_no: (_data, text) => {
    const answer = /^(true|false)$/i.test(text) ? text.toLowerCase() : answerOf(utteranceWords(text));
    if (answer === null) return refused('That is neither yes nor no.');
    const isYes = answer === 'yes' || answer === 'true';
    return { ok: true, value: isYes, spoken: isYes ? 'yes' : 'no' };
  },
  choice: checkChoice,
};

function taken(value: string | number): CheckedData {
  return { ok: true, value, spoken: String(value) };
}

function refused(reason: string): CheckedData {
  return { ok: false, reason };
}

function checkNumber({ min, max }: FlowData, text: string): CheckedData {
  const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : found(text, (words, at) => numberAt(words, at))?.value;
  if (value === undefined) return refused('That is not a number.');
  if (min != null && value < min) return refused(`That is too low: it has to be at least ${String(min)}.`);
  if (max != null && value > max) return refused(`That is too high: it can be at most ${String(max)}.`);
  return taken(value);
}

function checkDate({ period }: FlowData, text: string, today: DayNumber | null): CheckedData {
  const day = parseIsoDate(text) ?? spokenDay(text, today, period === 'past');
  if (day === null) return refused('That is not a date.');
  if (today !== null && period === 'future' && day < today) return refused('That day is in the past.');
  if (today !== null && period === 'past' && day > today) return refused('That day has not come yet.');
  const isNear = today !== null && Math.abs(day - today) < 300;
  const spoken = isNear ? spokenDate(day, today) : `${spokenDate(day, null)} ${isoDate(day).slice(0, 4)}`;
  return { ok: true, value: isoDate(day), spoken };
}

/** A day in words. Without its year, it is the next one to come, or (`isPast`) the latest. */
function spokenDay(text: string, today: DayNumber | null, isPast: boolean): DayNumber | null {
  const words = utteranceWords(text);
  // Any day will do to find the month and the date, if today is unknown.
  const at = found(text, (all, start) => dateAt(all, start, today ?? 0));
  if (at?.day == null) return null;
  const year = yearAt(words, at.end);
  if (year === null && today === null) return null;
  const [thatYear = '', month = '', date = ''] = isoDate(at.day).split('-');
  const inYear = (one: number): DayNumber | null => parseIsoDate(`${String(one)}-${month}-${date}`);
  if (year !== null) return inYear(year);
  if (!isPast || today === null || at.day <= today) return at.day;
  // "Tomorrow" moves with today; the third of December is the last one.
  const moved = found(text, (all, start) => dateAt(all, start, today + 1))?.day ?? null;
  return moved === at.day + 1 ? at.day : inYear(Number(thatYear) - 1);
}

/** "1980", "nineteen eighty", "two thousand and five". */
function yearAt(words: readonly Word[], start: number): number | null {
  const at = words[start]?.text === 'in' || words[start]?.text === 'of' ? start + 1 : start;
  if (/^(?:19|20)\d\d$/.test(words[at]?.text ?? '')) return Number(words[at]?.text);
  const whole = numberAt(words, at);
  if (whole === null) return null;
  if (whole.value >= 1900 && whole.value < 2100) {
    const rest = words[whole.end]?.text === 'and' ? numberAt(words, whole.end + 1) : null;
    return whole.value + (rest !== null && rest.value < 100 ? rest.value : 0);
  }
  const isZero = /^(?:oh|o)$/.test(words[whole.end]?.text ?? '');
  const low = numberAt(words, isZero ? whole.end + 1 : whole.end);
  const isCentury = whole.value === 19 || whole.value === 20;
  return isCentury && low !== null && low.value < 100 ? whole.value * 100 + low.value : null;
}

function checkTime(_data: FlowData, text: string): CheckedData {
  const minutes = parseClock(text) ?? found(text, (words, at) => timeAt(words, at))?.minutes;
  if (minutes === undefined) return refused('That is not a time of day.');
  return { ok: true, value: clockText(minutes), spoken: spokenTime(minutes, true) };
}

const SPOKEN_SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\s*\b(?:at sign|at)\b\s*/g, '@'],
  [/\s*\b(?:dot|period|point)\b\s*/g, '.'],
  [/\s*\b(?:dash|hyphen|minus)\b\s*/g, '-'],
  [/\s*\bunderscore\b\s*/g, '_'],
  [/\s*\bplus\b\s*/g, '+'],
];

/** Addresses as written, and as said: "anna dot smith at example dot com", also letter by letter. */
function checkEmail(text: string): CheckedData {
  const written = text
    .toLowerCase()
    .match(/[^\s<>"(),;:]+@[^\s<>"(),;:]+/)?.[0]
    .replace(/[.,]+$/, '');
  const value = written ?? spokenEmail(text);
  if (value === null || !EMAIL.test(value) || value.length > 254) return refused('That is not a valid e-mail address.');
  return { ok: true, value, spoken: spelledEmail(value) };
}

const EMAIL_LEADS =
  /^(?:(?:yes|it'?s|it is|that'?s|that is|my|the|e-?mail|mail|address|is|sure|okay|so|um|uh)\b[\s,]*)+/;

function spokenEmail(text: string): string | null {
  const words = text
    .toLowerCase()
    .replaceAll(/[,;]/g, ' ')
    .replace(/[.!]+$/, '')
    .replace(EMAIL_LEADS, '');
  const signed = SPOKEN_SIGNS.reduce((said, [word, sign]) => said.replaceAll(word, sign), words);
  const value = signed.replaceAll(/\s+/g, '');
  return value.split('@').length === 2 ? value : null;
}

/** Letter by letter; the last part of the domain as a word: "a, n, n, a, at, m, e, dot com". */
function spelledEmail(value: string): string {
  const at = value.lastIndexOf('.');
  const letters = Array.from(value.slice(0, at), (sign) => SIGN_NAMES[sign] ?? sign);
  return `${letters.join(', ')}, dot ${value.slice(at + 1)}`;
}

const SIGN_NAMES: Readonly<Record<string, string>> = {
  '@': 'at',
  '.': 'dot',
  '-': 'dash',
  _: 'underscore',
  '+': 'plus',
};

function checkPhone({ calling_code: code }: FlowData, text: string): CheckedData {
  const written = text.replaceAll(/[\s()./-]/g, '');
  const digits = PHONE_DIGITS.test(written) ? written : found(text, (words, at) => digitsAt(words, at))?.digits;
  if (digits === undefined || !PHONE_DIGITS.test(digits)) return refused('That is not a valid phone number.');
  const value = code == null || digits.startsWith('+') ? digits : code + digits.replace(/^0+/, '');
  return { ok: true, value, spoken: spokenDigits(value) };
}

function spokenLast(digits: string): string {
  return [...digits].join(' ');
}

function checkChoice({ choices }: FlowData, text: string): CheckedData {
  const known = choices ?? [];
  const exact = known.find(({ value }) => value.toLowerCase() === text.toLowerCase());
  const said = utteranceWords(text)
    .map((word) => word.text)
    .join(' ');
  const choice =
    exact ?? known.find(({ value, phrases }) => [value, ...(phrases ?? [])].some((phrase) => holds(said, phrase)));
  if (choice !== undefined) return taken(choice.value);
  return refused(`It has to be one of these: ${known.map(({ value }) => value).join(', ')}.`);
}

/** Whether the words of a phrase stand together among those that were said. */
function holds(said: string, phrase: string): boolean {
  const words = utteranceWords(phrase)
    .map((word) => word.text)
    .join(' ');
  return words !== '' && ` ${said} `.includes(` ${words} `);
}

/** The first value in a text; undefined = none. */
function found<T>(text: string, at: (words: readonly Word[], start: number) => T | null): T | undefined {
  const words = utteranceWords(text);
  for (const start of words.keys()) {
    const value = at(words, start);
    if (value !== null) return value;
  }
  return undefined;
}
