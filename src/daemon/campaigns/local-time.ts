import { WEEKDAYS } from '../../config/campaign-schedule.js';

/** A moment by somebody's clock. */
export interface LocalTime {
  year: number;
  /** 1..12. */
  month: number;
  day: number;
  weekday: (typeof WEEKDAYS)[number];
  /** Since midnight, as the clock shows it. */
  minutes: number;
}

const MINUTE_MS = 60_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** What the clocks of a time zone show. @param zone an IANA name */
export function localTime(unixMs: number, zone: string): LocalTime {
  const wall = new Date(wallMs(unixMs, zone));
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
export function unixOfLocal(year: number, month: number, day: number, minutes: number, zone: string): number {
  const wall = Date.UTC(year, month - 1, day) + minutes * MINUTE_MS;
  // The offset changes by hours at most, so those of the day before and after are the ones that it can be.
  const before = wall - offsetMs(wall - 86_400_000, zone);
  const after = wall - offsetMs(wall + 86_400_000, zone);
  const right = [before, after].filter((unixMs) => wallMs(unixMs, zone) === wall);
  return right.length === 0 ? before : Math.min(...right);
}

function offsetMs(unixMs: number, zone: string): number {
  return wallMs(unixMs, zone) - unixMs;
}

/** The clock's time as if it were UTC, to the second. */
function wallMs(unixMs: number, zone: string): number {
  const at: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(unixMs)) at[type] = Number(value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = at;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
      ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
    formats.set(zone, format);
  }
  return format;
}
