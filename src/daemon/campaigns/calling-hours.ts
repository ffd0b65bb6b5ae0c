import { type CallingHours, WEEKDAYS } from '../../settings/campaign-schedule.js';

/** Whoever cannot be called within so long cannot be called at all. */
const HORIZON_MS = 15 * 86_400_000;
/** Days of the clock that are looked at for the next opening: a week, and one more for a day that is half over. */
const DAYS = 8;

/** Whether it is within the hours in all of the zones. */
export function isWithinHours(hours: CallingHours, zones: readonly string[], unixMs: number): boolean {
  return zones.every((zone) => isOpen(hours, zone, unixMs));
}

/**
 * The first moment from `unixMs` on that is within the hours in all of the zones; null where there is none within two
 * weeks.
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

/** `unixMs` where the zone's hours are on. */
function nextOpening(hours: CallingHours, zone: string, unixMs: number): number {
  if (isOpen(hours, zone, unixMs)) return unixMs;
  const { year, month, day } = localTime(unixMs, zone);
  const start = minutesOf(hours.hoursStart);
  for (let ahead = 0; ahead <= DAYS; ahead++) {
    const openingMs = unixOfLocal(year, month, day + ahead, start, zone);
    if (openingMs > unixMs && isOpen(hours, zone, openingMs)) return openingMs;
  }
  // The clocks leave out the hours of that day.
  return unixMs + HORIZON_MS + 1;
}

/** `09:30` is 570. */
function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/** A moment by somebody's clock. */
interface LocalTime {
  year: number;
  /** 1..12. */
  month: number;
  day: number;
  weekday: (typeof WEEKDAYS)[number];
  /** Since midnight, as the clock shows it. */
  minutes: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Clocks are set at whole quarters of an hour of UTC. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Offsets of a zone that are remembered: asking takes longer than everything else. */
const REMEMBERED = 64;

interface Zone {
  format: Intl.DateTimeFormat;
  /** Milliseconds before UTC, by quarters of an hour since 1970. */
  offsets: Map<number, number>;
}

const zones = new Map<string, Zone>();

/** What the clocks of a time zone show. @param zone an IANA name */
function localTime(unixMs: number, zone: string): LocalTime {
  const wall = new Date(unixMs + offsetMs(unixMs, zone));
  return {
    year: wall.getUTCFullYear(),
    month: wall.getUTCMonth() + 1,
    day: wall.getUTCDate(),
    weekday: WEEKDAYS[(wall.getUTCDay() + 6) % 7] ?? 'mon',
    minutes: wall.getUTCHours() * 60 + wall.getUTCMinutes(),
  };
}

/**
 * When the clocks of a time zone show a time of a day. One that they show twice is the first; for one that they leave
 * out it is as much after the gap.
 * @param day may lie beyond the month's end
 */
function unixOfLocal(year: number, month: number, day: number, minutes: number, zone: string): number {
  const wall = Date.UTC(year, month - 1, day) + minutes * MINUTE_MS;
  // The offset changes by hours at most, so those of the day before and after are the ones that it can be.
  const before = wall - offsetMs(wall - DAY_MS, zone);
  const after = wall - offsetMs(wall + DAY_MS, zone);
  const right = [before, after].filter((unixMs) => unixMs + offsetMs(unixMs, zone) === wall);
  return right.length === 0 ? before : Math.min(...right);
}

function offsetMs(unixMs: number, name: string): number {
  const zone = zoneOf(name);
  const quarter = Math.floor(unixMs / QUARTER_MS);
  let offset = zone.offsets.get(quarter);
  if (offset === undefined) {
    offset = wallMs(quarter * QUARTER_MS, zone.format) - quarter * QUARTER_MS;
    if (zone.offsets.size >= REMEMBERED) zone.offsets.clear();
    zone.offsets.set(quarter, offset);
  }
  return offset;
}

/** The clock's time as if it were UTC. */
function wallMs(unixMs: number, format: Intl.DateTimeFormat): number {
  const at: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(unixMs)) at[type] = Number(value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = at;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function zoneOf(name: string): Zone {
  let zone = zones.get(name);
  if (zone === undefined) {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    zone = { format, offsets: new Map() };
    zones.set(name, zone);
  }
  return zone;
}
