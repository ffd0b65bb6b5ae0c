import { readFileSync } from 'node:fs';
import { packageFile } from '../../package-files.js';

/** Time zones by the digits that numbers begin with, and one beginning for each list of zones. */
interface Table {
  readonly zones: ReadonlyMap<string, readonly string[]>;
  readonly keys: ReadonlyMap<readonly string[], string>;
}

/** Read when the first number is asked for. */
let table: Table | null = null;

/** Digits of the longest numbers that there are. */
const MOST_DIGITS = 15;

/**
 * Where a number may be, in a word that is short and the same for all numbers that may be there: a time zone, `+` and
 * the digits that several zones share (all of a country's, where numbers such as Australia's mobile ones tell nothing
 * else), or nothing for numbers of no place.
 * @param number E.164
 */
export function placeOfNumber(number: string): string {
  table ??= readTable();
  const digits = number.replace(/\D/g, '');
  for (let length = Math.min(MOST_DIGITS, digits.length); length > 0; length--) {
    const zones = table.zones.get(digits.slice(0, length));
    if (zones !== undefined) return (zones.length === 1 ? zones[0] : `+${table.keys.get(zones) ?? ''}`) ?? '';
  }
  return '';
}

/** The time zones of such a word; none for what has no place. */
export function zonesOfPlace(place: string): readonly string[] {
  if (place === '') return [];
  if (!place.startsWith('+')) return [place];
  table ??= readTable();
  return table.zones.get(place.slice(1)) ?? [];
}

function readTable(): Table {
  const file = JSON.parse(readFileSync(packageFile('data/phone-zones.json'), 'utf8')) as Record<string, string>;
  const zones = new Map<string, readonly string[]>();
  const keys = new Map<readonly string[], string>();
  for (const [names, digits] of Object.entries(file)) {
    const list = names.split(' ');
    const beginnings = digits.split(' ');
    keys.set(list, beginnings[0] ?? '');
    for (const beginning of beginnings) zones.set(beginning, list);
  }
  return { zones, keys };
}
