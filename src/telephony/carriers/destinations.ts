import { readFileSync } from 'node:fs';
import { ParleyError } from '../../base/errors.js';
import { packageFile } from '../../package-files.js';
import { parseSipUri, userText } from '../sip/uri.js';

/** What is known of the numbers behind a calling code. */
interface NumberRule {
  /** Digits of the shortest ones behind the code. */
  shortest: number;
  /** What the expensive ones begin with: a pattern, empty = none are known. */
  expensive: string;
  /** The emergency numbers: a pattern. */
  emergency: string;
}

/**
 * Calling codes of no country, whose numbers cost a lot or lead nowhere (ITU-T, List of Recommendation E.164 assigned
 * country codes): shared cost, Inmarsat, personal numbers, satellite, international networks, disaster relief, premium.
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

/** What libphonenumber does not list of the North American plan: 976 exchanges are premium, N11 codes are services. */
const NORTH_AMERICA = { code: '1', premium: /^[2-9]\d\d976/, service: /^[2-9]11/ };

/** Digits of the longest numbers that are short codes, or extensions. */
const LONGEST_SHORT = 6;
/** The emergency numbers that the most networks know (3GPP TS 22.101, 10.1), behind 0 or 9, or both. */
const OUTSIDE_LINE = /^[09]{1,2}(?:112|911|999|000)$/;

const E164 = /^\+[1-9]\d{6,14}$/;
const CODE_DIGITS = 3;

/** Read when the first number is looked at. See scripts/make-number-rules.mjs. */
let rules: ReadonlyMap<string, NumberRule> | null = null;

/** Whether it is a phone number with its country code, as E.164 has it. */
export function isE164(number: string): boolean {
  return E164.test(number);
}

/** A number as it is written, without separators; null = there is none. */
function numberIn(written: string): string | null {
  if (!/^\+?[\d\s().-]+$/.test(written) || !/\d/.test(written)) return null;
  return written.replace(/[^+\d]/g, '').replace(/^00(?=[1-9])/, '+');
}

/**
 * Why a number must never be called by an agent: emergency services, short codes, and numbers that cost whoever calls
 * them a lot; null = nothing speaks against it, or it is no number. Longer numbers that begin like an expensive one count
 * as that one. A `sip:` address is an address, not a short code: of its short user parts, which are extensions of a PBX,
 * only the emergency numbers are refused.
 */
export function whyNeverCalled(target: string): string | null {
  const trimmed = target.trim();
  const sip = /^sips?:/i.test(trimmed);
  const number = numberIn(sip ? sipUser(trimmed) : trimmed.replace(/^tel:/i, '').replace(/;.*$/, ''));
  if (number === null) return null;
  const digits = number.replace('+', '');
  const known = (rules ??= readRules());
  const isShort = digits.length <= LONGEST_SHORT;
  if (isShort && isEmergency(digits, known)) return 'it is an emergency number';
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

/** The user part of a SIP address without its escapes, password and parameters; a broken address is read as far as it goes. */
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

/** No calling code begins with another one. */
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
