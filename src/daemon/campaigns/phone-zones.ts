import { readFileSync } from 'node:fs';
import { packageFile } from '../../package-files.js';

/** Time zones by number prefix, and one prefix for each list of zones. */
interface Table {
  readonly zones: ReadonlyMap<string, readonly string[]>;
  readonly keys: ReadonlyMap<readonly string[], string>;
}

/** Read at the first lookup. */
let table: Table | null = null;

/** The maximum of digits of a number (E.164). */
const MOST_DIGITS = 15;

/**
 * A short key for the possible time zones of a number. Numbers with the same zones have the same key: the name of a
 * zone, or `+` and a prefix with several zones (such as a country's mobile numbers), or an empty text for numbers
 * without a place.
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

/** The time zones of a key of `placeOfNumber`; [] = it has no place. */
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
