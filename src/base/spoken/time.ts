import type { Word } from './words.js';
import { spokenNumber } from '../spoken-number.js';
import { belowHundred } from './number.js';

/** A time of day that was found. */
export interface FoundTime {
  /** Minutes since midnight. */
  minutes: number;
  end: number;
  /** Unambiguously a time: "half past seven", "seven thirty", "7 pm"; not "seven". */
  clear: boolean;
}

const NOON = 12 * 60;
const DAY = 24 * 60;

/**
 * A time of day at a position: "half past seven", "quarter to eight", "seven thirty", "7:30", "19:30", "7 pm", "eight
 * o'clock", "noon", "seven in the evening". For a bare "seven", `between` (minutes since midnight) decides between
 * morning and evening; without it, one to seven is in the afternoon, eight to eleven in the morning.
 */
export function timeAt(words: readonly Word[], start: number, between?: readonly [number, number]): FoundTime | null {
  const clock = clockAt(words, start);
  if (clock === null) return null;
  const half = halfDayAt(words, clock.end);
  const certain = clock.clear || half !== null;
  const end = half?.end ?? clock.end;
  if (clock.exact || clock.minutes >= NOON + 60) return { minutes: clock.minutes % DAY, end, clear: certain };
  const morning = clock.minutes % NOON;
  const evening = morning + NOON;
  if (half !== null) return { minutes: half.after ? evening : morning, end, clear: certain };
  return { minutes: likelier(morning, evening, between), end, clear: certain };
}

interface Clock {
  minutes: number;
  end: number;
  clear: boolean;
  /** The half of the day is certain. */
  exact: boolean;
}

function clockAt(words: readonly Word[], start: number): Clock | null {
  const word = words[start]?.text ?? '';
  if (word === 'noon' || word === 'midday') return { minutes: NOON, end: start + 1, clear: true, exact: true };
  if (word === 'midnight') return { minutes: 0, end: start + 1, clear: true, exact: true };
  return pastOrTo(words, start) ?? digital(word, start) ?? hourAndMinutes(words, start);
}

/** "half past seven", "half seven", "quarter to eight", "ten past nine", "twenty minutes to six". */
function pastOrTo(words: readonly Word[], start: number): Clock | null {
  let at = start + (words[start]?.text === 'a' ? 1 : 0);
  let minutes: number;
  const word = words[at]?.text;
  if (word === 'half') minutes = 30;
  else if (word === 'quarter') minutes = 15;
  else {
    const found = belowHundred(words, at);
    if (found === null || found.value < 1 || found.value > 29) return null;
    minutes = found.value;
    at = found.end - 1;
    if (words[at + 1]?.text === 'minutes') at++;
  }
  at++;
  const link = words[at]?.text ?? '';
  const after = link === 'past' || link === 'after';
  const before = link === 'to' || link === 'of' || link === 'before';
  if (!after && !before && word !== 'half') return null;
  const hour = belowHundred(words, after || before ? at + 1 : at);
  if (hour === null || hour.value < 1 || hour.value > 12) return null;
  const end = words[hour.end]?.text === 'oclock' ? hour.end + 1 : hour.end;
  const total = hour.value * 60 + (before && word !== 'half' ? -minutes : minutes);
  return { minutes: total, end, clear: true, exact: false };
}

/** "19:30", "7:30", "7.30". */
function digital(word: string, start: number): Clock | null {
  const match = /^(\d{1,2})[:.]([0-5]\d)$/.exec(word);
  if (match === null || Number(match[1]) > 24) return null;
  const minutes = Number(match[1]) * 60 + Number(match[2]);
  return { minutes, end: start + 1, clear: true, exact: match[1] === '00' || match[1]?.startsWith('0') === true };
}

/** "seven", "seven o'clock", "seven thirty", "seven oh five", "nineteen thirty", "1930". */
function hourAndMinutes(words: readonly Word[], start: number): Clock | null {
  const four = /^([01]\d|2[0-3])([0-5]\d)$/.exec(words[start]?.text ?? '');
  if (four !== null) {
    return { minutes: Number(four[1]) * 60 + Number(four[2]), end: start + 1, clear: false, exact: true };
  }
  const hour = belowHundred(words, start);
  if (hour === null || hour.value > 24 || (hour.value === 0 && words[hour.end]?.text !== 'oclock')) return null;
  const next = words[hour.end]?.text ?? '';
  if (next === 'hundred' && hour.value >= 10)
    return { minutes: hour.value * 60, end: hour.end + 1, clear: true, exact: true };
  if (next === 'oclock') return { minutes: hour.value * 60, end: hour.end + 1, clear: true, exact: hour.value === 0 };
  if (next === 'oh' || next === 'o' || next === 'zero') {
    const low = belowHundred(words, hour.end + 1);
    if (low !== null && low.value <= 9) {
      return { minutes: hour.value * 60 + low.value, end: low.end, clear: true, exact: false };
    }
  }
  const minutes = belowHundred(words, hour.end);
  // "Seven thirty people" is not a time; nor is "two forty", unless the minutes end in 0 or 5.
  if (minutes !== null && minutes.value >= 10 && minutes.value <= 59 && hour.value >= 1) {
    const clear = minutes.value % 5 === 0;
    return { minutes: hour.value * 60 + minutes.value, end: minutes.end, clear, exact: false };
  }
  return { minutes: hour.value * 60, end: hour.end, clear: false, exact: false };
}

function halfDayAt(words: readonly Word[], start: number): { after: boolean; end: number } | null {
  const at = words[start]?.text === 'ish' ? start + 1 : start;
  const text = (offset: number): string => words[at + offset]?.text ?? '';
  if (text(0) === 'am') return { after: false, end: at + 1 };
  if (text(0) === 'pm') return { after: true, end: at + 1 };
  if (text(0) === 'in' && text(1) === 'the') {
    if (text(2) === 'morning') return { after: false, end: at + 3 };
    if (text(2) === 'afternoon' || text(2) === 'evening') return { after: true, end: at + 3 };
  }
  if (text(0) === 'at' && text(1) === 'night') return { after: true, end: at + 2 };
  return null;
}

function likelier(morning: number, evening: number, between: readonly [number, number] | undefined): number {
  const inside = (minutes: number): boolean => between !== undefined && minutes >= between[0] && minutes <= between[1];
  if (inside(evening)) return evening;
  if (inside(morning)) return morning;
  return morning >= 8 * 60 && between === undefined ? morning : evening;
}

/** "19:30" as minutes since midnight, or null. */
export function parseClock(text: string): number | null {
  const match = /^([01]?\d|2[0-4]):([0-5]\d)$/.exec(text);
  return match === null ? null : Number(match[1]) * 60 + Number(match[2]);
}

/** Minutes since midnight as "19:30". */
export function clockText(minutes: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
}

/** A time in words. `withHalfDay` adds "in the evening" and the like. */
export function spokenTime(minutes: number, withHalfDay: boolean): string {
  if (minutes === 0 || minutes === DAY) return 'midnight';
  if (minutes === NOON) return 'noon';
  const hour = Math.floor(minutes / 60);
  const words = spokenNumber(hour % 12 === 0 ? 12 : hour % 12);
  const rest = minutes % 60;
  const tail = rest === 0 ? '' : ` ${rest < 10 ? 'oh ' : ''}${spokenNumber(rest)}`;
  if (!withHalfDay) return rest === 0 ? `${words} o'clock` : `${words}${tail}`;
  const half = hour < 12 ? 'in the morning' : hour < 18 ? 'in the afternoon' : 'in the evening';
  return `${words}${tail} ${half}`;
}
