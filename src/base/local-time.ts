export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** A local time. */
export interface LocalTime {
  year: number;
  /** 1..12. */
  month: number;
  day: number;
  weekday: (typeof WEEKDAYS)[number];
  /** Since midnight, by the local clock. */
  minutes: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Offsets change only at whole quarters of an hour of UTC. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Cached offsets of a zone. Computing one takes longer than all other work. */
const REMEMBERED = 64;

interface Zone {
  format: Intl.DateTimeFormat;
  /** Offsets from UTC in milliseconds, by quarters of an hour since 1970. */
  offsets: Map<number, number>;
}

const zones = new Map<string, Zone>();

/** The local time of a zone. @param zone an IANA name */
export function localTime(unixMs: number, zone: string): LocalTime {
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
 * The Unix time of a local time. Of a local time that occurs twice, the first one. A local time that a clock change
 * skips moves behind the gap by the same amount.
 * @param day may be beyond the end of the month
 */
export function unixOfLocal(year: number, month: number, day: number, minutes: number, zone: string): number {
  const wall = Date.UTC(year, month - 1, day) + minutes * MINUTE_MS;
  // The offset changes by a few hours at most, so it is that of the day before or after.
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

/** The local time, read as UTC. */
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
