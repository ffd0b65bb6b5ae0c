import type { QueueHours, QueueSettings } from '../../agent/extensions/queue.js';
import { setOr } from '../../schema/field.js';
import { localTime } from '../../base/local-time.js';

/** What the rules of a queue look at. */
export interface RuledCall {
  from: string;
  to: string;
  metadata: Readonly<Record<string, unknown>>;
}

/** The minutes that a call is ahead of those that come at the same time. */
export function priorityOf({ priorities }: QueueSettings, call: RuledCall): number {
  let minutes = 0;
  for (const rule of priorities ?? []) {
    const isMeant =
      beginsWithOne(call.from, rule.from) &&
      beginsWithOne(call.to, rule.to) &&
      hasValue(call.metadata, rule.variable, rule.values);
    if (isMeant) minutes += rule.minutes;
  }
  return minutes;
}

function beginsWithOne(number: string, starts: readonly string[] | null | undefined): boolean {
  return starts == null || starts.some((start) => number.startsWith(start));
}

function hasValue(
  metadata: RuledCall['metadata'],
  name: string | null | undefined,
  values: readonly string[] | null | undefined,
): boolean {
  if (name == null) return true;
  const value = Object.hasOwn(metadata, name) ? metadata[name] : null;
  const text = typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value);
  return values == null ? text !== '' : values.includes(text);
}

/** Whether calls are taken at a time. @param timezone of hours that name none */
export function isOpen(hours: QueueHours, timezone: string, unixMs: number): boolean {
  const zone = setOr(hours.timezone, timezone);
  const { year, month, day, weekday, minutes } = localTime(unixMs, zone);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (hours.holidays?.includes(`${String(year)}-${two(month)}-${two(day)}`) === true) return false;
  const time = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return hours.open.some(({ days, from, to }) => days.includes(weekday) && from <= time && time < to);
}
