import type { Param } from '../config/function.js';

/** A value as the function takes it, or what is wrong with it, in words that a form can show and a model can say. */
export type ReadValue = { ok: true; value: string | number | boolean } | { ok: false; problem: string };

const MAX_CHARS = 10_000;
/** One `@` with something on both sides and a dot behind it: more is for the mail server to judge (RFC 5321 limits). */
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['on', true],
  ['false', false],
  ['no', false],
  ['off', false],
]);

/** Whether a client or a model left the value out. */
export function isMissing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
}

/**
 * Checks a value that was filled in or said. Clients send text for everything, so text that reads as the type will do.
 * Types: string, number (integer), boolean, email; any other word is a string.
 */
export function readValue(param: Param, value: unknown): ReadValue {
  const text = typeof value === 'string' ? value.trim() : value;
  switch ((param.type ?? 'string').toLowerCase()) {
    case 'number':
    case 'float':
      return numberOf(param, text, Number.isFinite, 'a number');
    case 'integer':
    case 'int':
      return numberOf(param, text, Number.isSafeInteger, 'a whole number');
    case 'boolean':
    case 'bool': {
      const read = typeof text === 'string' ? BOOLEANS.get(text.toLowerCase()) : text;
      return typeof read === 'boolean' ? { ok: true, value: read } : wrong(param, 'yes or no');
    }
    case 'email': {
      const is = typeof text === 'string' && text.length <= 254 && EMAIL.test(text);
      return is ? { ok: true, value: text } : wrong(param, 'an email address such as name@example.com');
    }
    default:
      return typeof text === 'string' && text.length <= MAX_CHARS ? { ok: true, value: text } : wrong(param, 'a text');
  }
}

function numberOf(param: Param, value: unknown, fits: (value: number) => boolean, words: string): ReadValue {
  const read = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof read === 'number' && fits(read) ? { ok: true, value: read } : wrong(param, words);
}

function wrong({ name }: Param, words: string): ReadValue {
  return { ok: false, problem: `${name} should be ${words}.` };
}
