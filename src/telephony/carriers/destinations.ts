import { readFileSync } from 'node:fs';
import { ParleyError } from '../../base/errors.js';
import { packageFile } from '../../package-files.js';
import { parseSipUri, userText } from '../sip/uri.js';

/** Rules for the numbers of a calling code. */
interface NumberRule {
  /** Length of the shortest numbers after the code. */
  shortest: number;
  /** Prefixes of expensive numbers: a pattern, empty = none known. */
  expensive: string;
  /** Emergency numbers: a pattern. */
  emergency: string;
}

/**
 * Calling codes that are not countries, whose numbers are expensive or unreachable (ITU-T, List of Recommendation E.164
 * assigned country codes): shared cost, Inmarsat, personal numbers, satellite, international networks, disaster relief,
 * premium.
 */
const NO_COUNTRY: Readonly<Record<string, string>> = {
  808: 'an international shared-cost number',
  870: 'a satellite number',
  878: 'an international personal number',
  881: 'a satellite number',
  882: 'a number of an international network',
  883: 'a number of an international network',
  888: 'a number of disaster relief',
  979: 'an international premium number',
};

/** Missing in libphonenumber for North America: 976 exchanges are premium, N11 codes are services. */
const NORTH_AMERICA = { code: '1', premium: /^[2-9]\d\d976/, service: /^[2-9]11/ };

/** Maximum length of short codes and extensions. */
const LONGEST_SHORT = 6;
/** The most common emergency numbers (3GPP TS 22.101, 10.1), after 0, 9 or both. */
const OUTSIDE_LINE = /^[09]{1,2}(?:112|911|999|000)$/;
const COMMON_EMERGENCY = /^(?:112|911|999|000)$/;

const E164 = /^\+[1-9]\d{6,14}$/;
const CODE_DIGITS = 3;

/** Loaded with the first number. See scripts/make-number-rules.mjs. */
let rules: ReadonlyMap<string, NumberRule> | null = null;

/** Whether it is a phone number with country code in E.164 format. */
export function isE164(number: string): boolean {
  return E164.test(number);
}

/** A number without separators; null = not a number. */
function numberIn(written: string): string | null {
  if (!/^\+?[\d\s().-]+$/.test(written) || !/\d/.test(written)) return null;
  return written.replace(/[^+\d]/g, '').replace(/^00(?=[1-9])/, '+');
}

/**
 * Why an agent must never call a number: emergency services, short codes, and numbers that are expensive for the
 * caller; null = allowed, or not a number. Longer numbers with the prefix of an expensive one count as expensive. A
 * `sip:` address is an address, not a short code: of its short user parts, which are extensions of a PBX, only
 * emergency numbers are refused.
 */
export function whyNeverCalled(target: string): string | null {
  const trimmed = target.trim();
  const sip = /^sips?:/i.test(trimmed);
  const number = numberIn(sip ? sipUser(trimmed) : trimmed.replace(/^tel:/i, '').replace(/;.*$/, ''));
  if (number === null) return null;
  const digits = number.replace('+', '');
  const known = (rules ??= readRules());
  const isShort = digits.length <= LONGEST_SHORT;
  if (isShort && isEmergency(digits, known)) {
    return COMMON_EMERGENCY.test(digits) ? 'it is an emergency number' : 'it is an emergency number in some countries';
  }
  if (!number.startsWith('+')) {
    if (!isShort) return null;
    if (!sip) return 'it is a short code';
    return OUTSIDE_LINE.test(digits) ? 'it is an emergency number behind the digit for an outside line' : null;
  }
  const code = codeOf(digits, known);
  if (code === null) return 'no country has numbers that begin so';
  const special = NO_COUNTRY[code];
  if (special !== undefined) return `it is ${special}`;
  const rest = digits.slice(code.length);
  const { shortest, expensive, emergency } = known.get(code) as NumberRule;
  if (matches(emergency, rest, 'all')) return 'it is an emergency number';
  if (code === NORTH_AMERICA.code && NORTH_AMERICA.service.test(rest)) return 'it is an emergency or service number';
  if (matches(expensive, rest, 'beginning')) return 'it is a premium-rate, shared-cost or personal number';
  if (code === NORTH_AMERICA.code && NORTH_AMERICA.premium.test(rest)) return 'it is a premium-rate number';
  return rest.length < shortest ? 'it is a short code' : null;
}

/**
 * The user part of a SIP address without escapes, password and parameters; a malformed address is read as far as
 * possible.
 */
function sipUser(uri: string): string {
  const user = parseSipUri(uri)?.user ?? /^sips?:([^@]*)/i.exec(uri)?.[1] ?? '';
  return userText(user).split(/[;:]/, 1)[0] ?? '';
}

function isEmergency(digits: string, known: ReadonlyMap<string, NumberRule>): boolean {
  for (const { emergency } of known.values()) if (matches(emergency, digits, 'all')) return true;
  return false;
}

/** @throws ParleyError CALL_FORBIDDEN */
export function assertCallable(number: string): void {
  const reason = whyNeverCalled(number);
  if (reason !== null) throw new ParleyError('CALL_FORBIDDEN', { number, reason });
}

/** No calling code is the prefix of another. */
function codeOf(digits: string, known: ReadonlyMap<string, NumberRule>): string | null {
  for (let length = 1; length <= CODE_DIGITS; length++) {
    const code = digits.slice(0, length);
    if (known.has(code) || Object.hasOwn(NO_COUNTRY, code)) return code;
  }
  return null;
}

function matches(pattern: string, digits: string, what: 'all' | 'beginning'): boolean {
  return pattern !== '' && new RegExp(`^(?:${pattern})${what === 'all' ? '$' : ''}`).test(digits);
}

function readRules(): ReadonlyMap<string, NumberRule> {
  const file = JSON.parse(readFileSync(packageFile('data/number-rules.json'), 'utf8')) as Record<string, NumberRule>;
  return new Map(Object.entries(file));
}
