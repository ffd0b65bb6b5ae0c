import { spokenNumber, spokenOrdinal } from '../../../../base/spoken-number.js';
import type { WordPlace, SpeechRule } from './place.js';

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
/** Words before a date without a year: "on 11/23", not "11/23 of them". */
const DATE_LEADS = /^(?:on|by|from|until|till|before|after|since|through|date|dated|is|to|for)$/i;
/** Words before a year. Capital letters do not count. */
const YEAR_LEADS =
  /^(?:in|since|from|until|till|of|year|by|before|after|circa|early|late|mid|during|summer|spring|winter|fall|autumn|q[1-4]|fy|and|©|copyright)$/i;
const MONTH_NAME = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)/i;

/** "2026-11-23", "11/23/2026", "23.11.2026", "on 11/23", with a time behind "T" too. */
export function sayEnglishDate({ core, before }: WordPlace, dayFirst: boolean): string | null {
  const iso = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2}).{0,20})?$/.exec(core);
  if (iso !== null) {
    const date = said(Number(iso[1]), Number(iso[2]), Number(iso[3]));
    if (date === null || iso[4] === undefined) return date;
    const [hour, minutes] = [Number(iso[4]), Number(iso[5])];
    const clock = `${spokenNumber(hour % 12 === 0 ? 12 : hour % 12)}${minutes === 0 ? '' : minutes < 10 ? ` oh ${spokenNumber(minutes)}` : ` ${spokenNumber(minutes)}`}`;
    return `${date}, ${clock} ${hour < 12 ? 'AM' : 'PM'}`;
  }
  const [, first = '', mark = '', second = '', year] =
    /^(\d{1,2})([/.-])(\d{1,2})(?:\2(\d{4}|\d{2}))?$/.exec(core) ?? [];
  if (first === '' || (year === undefined && !(mark === '/' && DATE_LEADS.test(before)))) return null;
  // More often a part: "everything is 1/2 off".
  const isPart = year === undefined && /^(?:1\/[234]|3\/4)$/.test(core);
  if (isPart && !/^(?:on|dated?)$/i.test(before)) return null;
  const [a, b] = [Number(first), Number(second)];
  const isDayFirst = a > 12 || (b <= 12 && (dayFirst || mark === '.'));
  const full = year === undefined ? null : year.length === 2 ? 2000 + Number(year) : Number(year);
  return isDayFirst ? said(full, b, a) : said(full, a, b);
}

/** "November twenty third, twenty twenty six". */
function said(year: number | null, month: number, day: number): string | null {
  const name = MONTHS[month - 1];
  if (name === undefined || day < 1 || day > 31) return null;
  return `${name} ${spokenOrdinal(day)}${year === null ? '' : `, ${sayYear(year)}`}`;
}

/** 1999 as "nineteen ninety nine", 2005 as "two thousand five", 1905 as "nineteen oh five". */
export function sayYear(year: number): string {
  const [century, rest] = [Math.floor(year / 100), year % 100];
  if (year < 1100 || year > 2999 || (year >= 2000 && year < 2010)) return spokenNumber(year);
  if (rest === 0) return century % 10 === 0 ? spokenNumber(year) : `${spokenNumber(century)} hundred`;
  return `${spokenNumber(century)} ${rest < 10 ? 'oh ' : ''}${spokenNumber(rest)}`;
}

/** "In 1999", "May 2026", "November 23, 2026", "the 1990s"; not "in 1500 shops". */
export const yearRule: SpeechRule = ({ core, before, beforeThat, after, tail }) => {
  const decade = /^['’]?((?:1[1-9]|20)?\d0)['’]?s$/.exec(core)?.[1];
  if (decade !== undefined && (decade.length === 4 || /^the$/i.test(before))) {
    return sayYear(Number(decade))
      .replace(/y$/, 'ies')
      .replace(/(hundred|thousand|ten)$/, '$1s');
  }
  if (!/^(?:1[1-9]|20)\d\d$/.test(core)) return null;
  const isDated = MONTH_NAME.test(before) || (/^\d{1,2}(?:st|nd|rd|th)?$/.test(before) && MONTH_NAME.test(beforeThat));
  const isCounted =
    tail === '' &&
    /^[a-z]{2,}(?:s|people|men|women|children)$/.test(after) &&
    !/^(?:was|is|has|as|this|its)$/.test(after);
  if (isDated || (YEAR_LEADS.test(before) && !isCounted)) return sayYear(Number(core));
  // "The 2026 model"; not "2026 people", "1950 m", "2,026", "room 2026".
  const isModel = /^(?:the|a|our|your|this)$/i.test(before) && /^[a-z]{3,}$/.test(after) && !isCounted;
  return isModel && /^(?:19|20)/.test(core) ? sayYear(Number(core)) : null;
};
