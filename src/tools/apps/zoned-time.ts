/** Instants and the times that clocks on the wall of a time zone show, such as `2026-11-23T09:30`. */

const WALL = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/;

/** What the clocks of `timezone` show at an instant, to the minute; null for a text that is no instant. */
export function wallTime(instant: string, timezone: string): string | null {
  const unixMs = Date.parse(instant);
  if (Number.isNaN(unixMs)) return null;
  return new Date(unixMs + offsetMs(unixMs, timezone)).toISOString().slice(0, 16);
}

/**
 * The instant of a wall time as ISO 8601 in UTC; null for a text that is none. One with an offset of its own means that.
 * A time that the clocks skip is moved behind the gap, of one that they show twice it is the first.
 */
export function utcOf(wall: string, timezone: string): string | null {
  const [text, year, month, day, hour, minute, second = '0', zone] = WALL.exec(wall.trim()) ?? [];
  if (text === undefined) return null;
  if (zone !== undefined) return isoOf(Date.parse(text));
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const asUtcMs = Date.UTC(y, mo - 1, d, h, mi, s);
  const back = new Date(asUtcMs);
  if (back.getUTCMonth() !== mo - 1 || back.getUTCDate() !== d || h > 23 || mi > 59 || s > 59) return null;
  const offsets = [asUtcMs - 86_400_000, asUtcMs + 86_400_000].map((unixMs) => offsetMs(unixMs, timezone));
  const candidates = offsets.map((offset) => asUtcMs - offset);
  const exact = candidates.filter((unixMs) => unixMs + offsetMs(unixMs, timezone) === asUtcMs);
  return isoOf(exact.length > 0 ? Math.min(...exact) : Math.max(...candidates));
}

function isoOf(unixMs: number): string | null {
  return Number.isNaN(unixMs) ? null : new Date(unixMs).toISOString().replace('.000Z', 'Z');
}

/** How far the zone's clocks are ahead of UTC. */
function offsetMs(unixMs: number, timezone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const parts = new Map(format.formatToParts(unixMs).map(({ type, value }) => [type, Number(value)]));
  const get = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const shown = Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'), get('second'));
  return shown - Math.floor(unixMs / 1000) * 1000;
}
