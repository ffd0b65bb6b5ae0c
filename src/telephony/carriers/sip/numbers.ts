import { parseSipUri, userPart } from '../../sip/uri.js';

const E164 = /^\+[1-9]\d{6,14}$/;

/** The operator's settings for addresses. */
export interface Addressing {
  /** Host of own and called addresses. */
  domain: string;
  /** Format of numbers: `+12025550123`, or `12025550123`. */
  numbers: 'e164' | 'digits';
}

export function isNumber(text: string): boolean {
  return E164.test(text);
}

/**
 * The SIP address for a number or a `sip:` address.
 * @returns null for anything else
 */
export function addressToCall(target: string, addressing: Addressing): string | null {
  if (isNumber(target)) return addressOfUser(target, addressing);
  if (!/^sips?:/i.test(target) || target.length > 500) return null;
  const parsed = parseSipUri(target);
  return parsed === null || parsed.user === null || parsed.headers !== null ? null : target;
}

/** An address on the trunk, for a number or a user name. */
export function addressOfUser(user: string, { domain, numbers }: Addressing): string {
  if (!isNumber(user)) return `sip:${userPart(user)}@${domain}`;
  return `sip:${numbers === 'e164' ? user : user.slice(1)}@${domain};user=phone`;
}

/**
 * A user part as a number if it is written like one, otherwise unchanged.
 * @param national reads digits as a national number of the trunk, E.164; null = not a number
 */
export function numberOfUser(user: string, national?: (digits: string) => string | null): string {
  const plain = user.replaceAll(/[-.() ]/g, '');
  if (isNumber(plain)) return plain;
  const own = /^\d{7,15}$/.test(plain) ? national?.(plain) : null;
  if (own != null) return own;
  const international = /^00([1-9]\d{6,14})$/.exec(plain)?.[1];
  if (international !== undefined) return `+${international}`;
  return /^[1-9]\d{9,14}$/.test(plain) ? `+${plain}` : user;
}
