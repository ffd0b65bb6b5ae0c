import { spokenNumber } from '../../base/spoken-number.js';
import { plainWords, textTest } from '../pattern.js';
import type { ArgumentMatchers, ValueMatcher } from '../suite/expectation-schema.js';

/** Whether all conditions hold. */
export function argumentsMatch(matchers: ArgumentMatchers, values: Readonly<Record<string, unknown>>): boolean {
  return mismatch(matchers, values) === null;
}

/** The first condition that does not hold, in words; null = all do. */
export function mismatch(matchers: ArgumentMatchers, values: Readonly<Record<string, unknown>>): string | null {
  for (const [name, matcher] of Object.entries(matchers)) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (!valueMatches(matcher, value)) return `${name} is ${shown(value)}, not ${inWords(matcher)}`;
  }
  return null;
}

/** @param value undefined = missing */
export function valueMatches(matcher: ValueMatcher, value: unknown): boolean {
  if (typeof matcher !== 'object' || matcher === null) return isEqual(matcher, value);
  const { equals, contains, matches, one_of: oneOf, min, max, exists } = matcher;
  if (exists === false) return isMissing(value);
  if (isMissing(value)) return false;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (Object.hasOwn(matcher, 'equals') && !isEqual(equals, value)) return false;
  if (contains !== undefined && !textTest(contains)(text)) return false;
  if (matches !== undefined && !new RegExp(matches, 'i').test(text)) return false;
  if (oneOf !== undefined && !oneOf.some((one) => isEqual(one, value))) return false;
  const number = Number(value);
  if (min !== undefined && !(number >= min)) return false;
  return max === undefined || number <= max;
}

/** A condition in words. */
export function inWords(matcher: ValueMatcher): string {
  if (typeof matcher !== 'object' || matcher === null) return shown(matcher);
  const parts = Object.entries(matcher).map(([name, value]) => `${name.replace('_', ' ')} ${shown(value)}`);
  return parts.join(' and ');
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** Texts without regard to case and punctuation; a number equals its text; lists and objects member by member. */
function isEqual(wanted: unknown, value: unknown): boolean {
  if (typeof wanted === 'string' && typeof value === 'string') {
    return wanted === value || (plainWords(wanted) === plainWords(value) && plainWords(wanted) !== '');
  }
  if (typeof wanted === 'number' && typeof value === 'string') return numberOf(value) === wanted;
  if (typeof wanted === 'string' && typeof value === 'number') return numberOf(wanted) === value;
  if (Array.isArray(wanted) && Array.isArray(value)) {
    return wanted.length === value.length && wanted.every((one, index) => isEqual(one, value[index]));
  }
  if (isObject(wanted) && isObject(value)) {
    const names = new Set([...Object.keys(wanted), ...Object.keys(value)]);
    return [...names].every((name) => isEqual(wanted[name], value[name]));
  }
  return wanted === value || (wanted === null && value === undefined);
}

/** By value, up to twenty. */
const NUMBER_WORDS = Array.from({ length: 21 }, (_, value) => spokenNumber(value));

/** A number in digits or in an English word up to twenty; null = neither. */
function numberOf(text: string): number | null {
  const plain = text.trim().toLowerCase();
  const word = NUMBER_WORDS.indexOf(plain);
  if (word >= 0) return word;
  return plain === '' || Number.isNaN(Number(plain)) ? null : Number(plain);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}
