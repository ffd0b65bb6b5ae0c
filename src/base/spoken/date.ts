import type { Word } from './words.js';
import { spokenOrdinal } from '../spoken-number.js';
import { belowHundred, numberAt, ordinalAt } from './number.js';

/** Days since 1970-01-01, without any time zone. */
export type DayNumber = number;

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const DAY_MS = 86_400_000;

/** A day that was found. */
export interface FoundDate {
  /** Null if today's date is unknown and only the words tell the day. */
  day: DayNumber | null;
  end: number;
  /** Unambiguously a day; "the third" alone may mean something else. */
  clear: boolean;
}

/**
 * A day at a position: "today", "tomorrow", "the day after tomorrow", "friday", "next friday", "friday the third", "in
 * two weeks", "the third of may", "may third", "new year's eve", "2026-12-24". A weekday is the next one to come, not
 * today; "next friday" is that of next week (weeks begin on Monday). A date without a year is the next one to come.
 */
export function dateAt(words: readonly Word[], start: number, today: DayNumber | null): FoundDate | null {
  return relativeDay(words, start, today) ?? weekday(words, start, today) ?? calendarDay(words, start, today);
}

function relativeDay(words: readonly Word[], start: number, today: DayNumber | null): FoundDate | null {
  const text = (offset: number): string => words[start + offset]?.text ?? '';
  const found = (days: number, length: number): FoundDate => ({
    day: today === null ? null : today + days,
    end: start + length,
    clear: true,
  });
  if (text(0) === 'today' || text(0) === 'tonight') return found(0, 1);
  if (text(0) === 'this' && (text(1) === 'evening' || text(1) === 'afternoon')) return found(0, 2);
  if (text(0) === 'tomorrow') return found(1, isPartOfDay(text(1)) ? 2 : 1);
  const skip = text(0) === 'the' ? 1 : 0;
  if (text(skip) === 'day' && text(skip + 1) === 'after' && text(skip + 2) === 'tomorrow') return found(2, skip + 3);
  if (text(0) !== 'in') return null;
  const count = text(1) === 'a' && text(2) !== 'couple' ? { value: 1, end: start + 2 } : numberAt(words, start + 1);
  const unit = count === null ? '' : (words[count.end]?.text ?? '');
  const length = unit.startsWith('day') ? 1 : unit.startsWith('week') ? 7 : 0;
  if (count === null || length === 0 || count.value > 366) return null;
  return found(count.value * length, count.end + 1 - start);
}

function weekday(words: readonly Word[], start: number, today: DayNumber | null): FoundDate | null {
  const lead = words[start]?.text ?? '';
  const at = lead === 'next' || lead === 'this' || lead === 'coming' ? start + 1 : start;
  const wanted = WEEKDAYS.indexOf(words[at]?.text ?? '');
  if (wanted < 0) return null;
  let end = at + 1;
  // "Friday the third": the date says more than the weekday.
  const exact = calendarDay(words, end, today);
  if (exact !== null) return { ...exact, clear: true };
  let nextWeek = lead === 'next';
  if (words[end]?.text === 'next' && words[end + 1]?.text === 'week') {
    nextWeek = true;
    end += 2;
  }
  if (isPartOfDay(words[end]?.text ?? '')) end++;
  if (today === null) return { day: null, end, clear: true };
  const now = weekdayOf(today);
  const monday = today - ((now + 6) % 7);
  const ahead = (wanted - now + 7) % 7;
  const day = nextWeek ? monday + 7 + ((wanted + 6) % 7) : today + (ahead === 0 && lead !== 'this' ? 7 : ahead);
  return { day, end, clear: true };
}

function calendarDay(words: readonly Word[], start: number, today: DayNumber | null): FoundDate | null {
  const text = (position: number): string => words[position]?.text ?? '';
  const iso = parseIsoDate(text(start));
  if (iso !== null) return { day: iso, end: start + 1, clear: true };
  const feast = feastAt(words, start);
  if (feast !== null) return { day: nextDate(today, feast.month, feast.date), end: feast.end, clear: true };
  const at = text(start) === 'the' ? start + 1 : start;
  const named = MONTHS.indexOf(text(at));
  if (named >= 0) {
    const from = text(at + 1) === 'the' ? at + 2 : at + 1;
    const date = ordinalAt(words, from) ?? dayOfMonth(words, from);
    return date === null ? null : existing(nextDate(today, named, date.value), date.end, today);
  }
  const ordinal = ordinalAt(words, at);
  const date = ordinal ?? dayOfMonth(words, at);
  if (date === null) return null;
  const month = MONTHS.indexOf(text(text(date.end) === 'of' ? date.end + 1 : date.end));
  if (month >= 0) {
    const end = date.end + (text(date.end) === 'of' ? 2 : 1);
    return existing(nextDate(today, month, date.value), end, today);
  }
  if (ordinal === null || at === start) return null;
  return { day: nextOfMonth(today, ordinal.value), end: ordinal.end, clear: false };
}

/** A clear date, if the day exists (there is no 31st of April). */
function existing(day: DayNumber | null, end: number, today: DayNumber | null): FoundDate | null {
  return day === null && today !== null ? null : { day, end, clear: true };
}

function dayOfMonth(words: readonly Word[], start: number): { value: number; end: number } | null {
  const found = belowHundred(words, start);
  return found !== null && found.value >= 1 && found.value <= 31 ? found : null;
}

function feastAt(words: readonly Word[], start: number): { month: number; date: number; end: number } | null {
  const text = (offset: number): string => words[start + offset]?.text ?? '';
  if (text(0) === 'christmas') {
    if (text(1) === 'eve') return { month: 11, date: 24, end: start + 2 };
    return { month: 11, date: 25, end: start + (text(1) === 'day' ? 2 : 1) };
  }
  if (text(0) === 'new' && /^years?$/.test(text(1))) {
    if (text(2) === 'eve') return { month: 11, date: 31, end: start + 3 };
    if (text(2) === 'day') return { month: 0, date: 1, end: start + 3 };
  }
  if (/^valentines?$/.test(text(0))) return { month: 1, date: 14, end: start + (text(1) === 'day' ? 2 : 1) };
  return null;
}

function nextDate(today: DayNumber | null, month: number, date: number): DayNumber | null {
  if (today === null) return null;
  const year = new Date(today * DAY_MS).getUTCFullYear();
  // The 29th of February can be eight years away.
  for (let later = 0; later <= 8; later++) {
    const day = dayNumber(year + later, month, date);
    if (day !== null && day >= today) return day;
  }
  return null;
}

function nextOfMonth(today: DayNumber | null, date: number): DayNumber | null {
  if (today === null) return null;
  const now = new Date(today * DAY_MS);
  for (let later = 0; later <= 12; later++) {
    const month = now.getUTCMonth() + later;
    const day = dayNumber(now.getUTCFullYear() + Math.floor(month / 12), month % 12, date);
    if (day !== null && day >= today) return day;
  }
  return null;
}

function isPartOfDay(word: string): boolean {
  return word === 'morning' || word === 'afternoon' || word === 'evening' || word === 'night';
}

function dayNumber(year: number, month: number, date: number): DayNumber | null {
  const time = new Date(Date.UTC(year, month, date));
  return time.getUTCMonth() === month ? time.getTime() / DAY_MS : null;
}

/** "2026-12-24" as a day; null if invalid. */
export function parseIsoDate(text: string): DayNumber | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  return match === null ? null : dayNumber(Number(match[1]), Number(match[2]) - 1, Number(match[3]));
}

/** 21, "November", 2026 as a day; null if invalid. */
export function parseDate(date: number, month: string, year: number): DayNumber | null {
  const index = MONTHS.indexOf(month.toLowerCase());
  return index < 0 ? null : dayNumber(year, index, date);
}

export function isoDate(day: DayNumber): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** 0 is Sunday. */
export function weekdayOf(day: DayNumber): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** 0 for "sunday" to 6; -1 for anything else. */
export function weekdayNamed(name: string): number {
  return WEEKDAYS.indexOf(name.toLowerCase());
}

/** "today", "tomorrow", or "Friday the twenty seventh of November". */
export function spokenDate(day: DayNumber, today: DayNumber | null): string {
  if (day === today) return 'today';
  if (today !== null && day === today + 1) return 'tomorrow';
  const date = new Date(day * DAY_MS);
  const weekdayName = capital(WEEKDAYS[date.getUTCDay()] ?? '');
  return `${weekdayName} the ${spokenOrdinal(date.getUTCDate())} of ${capital(MONTHS[date.getUTCMonth()] ?? '')}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
