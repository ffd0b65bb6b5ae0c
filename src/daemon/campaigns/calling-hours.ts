import { localTime, unixOfLocal } from '../../base/local-time.js';
import type { CallingHours } from '../../settings/campaign-schedule.js';

/** A record without calling hours within this time cannot be called. */
const HORIZON_MS = 15 * 86_400_000;
/** Days that the search for the next opening covers: a week, plus one because today may be half over. */
const DAYS = 8;

/** Whether a time is within the calling hours of all zones. */
export function isWithinHours(hours: CallingHours, zones: readonly string[], unixMs: number): boolean {
  return zones.every((zone) => isOpen(hours, zone, unixMs));
}

/**
 * The first time from `unixMs` on within the calling hours of all zones; null = there is none within two weeks.
 */
export function nextWithinHours(hours: CallingHours, zones: readonly string[], unixMs: number): number | null {
  let atMs = unixMs;
  while (atMs <= unixMs + HORIZON_MS) {
    const latest = Math.max(atMs, ...zones.map((zone) => nextOpening(hours, zone, atMs)));
    if (latest === atMs) return atMs;
    atMs = latest;
  }
  return null;
}

function isOpen({ hoursStart, hoursEnd, days }: CallingHours, zone: string, unixMs: number): boolean {
  const { weekday, minutes } = localTime(unixMs, zone);
  return days.includes(weekday) && minutes >= minutesOf(hoursStart) && minutes < minutesOf(hoursEnd);
}

/** The next opening of a zone: `unixMs` if it is within the calling hours. */
function nextOpening(hours: CallingHours, zone: string, unixMs: number): number {
  if (isOpen(hours, zone, unixMs)) return unixMs;
  const { year, month, day } = localTime(unixMs, zone);
  const start = minutesOf(hours.hoursStart);
  for (let ahead = 0; ahead <= DAYS; ahead++) {
    const openingMs = unixOfLocal(year, month, day + ahead, start, zone);
    if (openingMs > unixMs && isOpen(hours, zone, openingMs)) return openingMs;
  }
  // The clock change skips the calling hours of that day.
  return unixMs + HORIZON_MS + 1;
}

/** `09:30` is 570. */
function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}
