import { numberOf, type Parameters } from './scan.js';

/** `sip:` and `sips:` (RFC 3261, 19.1). */
export interface SipUri {
  scheme: 'sip' | 'sips';
  /** With escapes, without a password. */
  user: string | null;
  /** In lower case; IPv6 addresses without brackets. */
  host: string;
  port: number | null;
  parameters: Parameters;
  /** The part after the question mark, as received; null = none. */
  headers: string | null;
}

/** Unescaped characters of a user part (RFC 3261, 25.1: unreserved and user-unreserved). */
const USER = /^(?:[A-Za-z0-9\-_.!~*'()&=+$,;?/]|%[0-9a-f]{2})+$/i;
const PASSWORD = /^(?:[A-Za-z0-9\-_.!~*'()&=+$,]|%[0-9a-f]{2})*$/i;
const NAME = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.?$/;
const V6 = /^[0-9a-f:.]{2,45}$/;
const PARAMETER = /^(?:[A-Za-z0-9\-_.!~*'()[\]/:&+$]|%[0-9a-f]{2})+$/i;
const MOST_PORT = 65_535;
const MOST_HOST = 255;

/** The scheme of a URI, in lower case; null = none. */
export function schemeOf(text: string): string | null {
  return /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** @returns null if it is not a valid `sip:` or `sips:` URI */
export function parseSipUri(text: string): SipUri | null {
  const scheme = schemeOf(text);
  if (scheme !== 'sip' && scheme !== 'sips') return null;
  let rest = text.slice(scheme.length + 1);
  // The last @ ends the user part, which may contain nearly anything.
  const at = rest.lastIndexOf('@');
  let user: string | null = null;
  if (at >= 0) {
    const userInfo = rest.slice(0, at);
    rest = rest.slice(at + 1);
    const colon = userInfo.indexOf(':');
    user = colon < 0 ? userInfo : userInfo.slice(0, colon);
    if (!USER.test(user) || (colon >= 0 && !PASSWORD.test(userInfo.slice(colon + 1)))) return null;
  }
  const question = rest.indexOf('?');
  const headers = question < 0 ? null : rest.slice(question + 1);
  if (headers !== null && (headers === '' || /[\s<>"]/.test(headers))) return null;
  if (question >= 0) rest = rest.slice(0, question);
  const [hostPort = '', ...pieces] = rest.split(';');
  const place = parseHostPort(hostPort);
  const parameters = uriParameters(pieces);
  return place === null || parameters === null ? null : { scheme, user, ...place, parameters, headers };
}

/** `host`, `host:port`, `[::1]:port`. */
export function parseHostPort(text: string): { host: string; port: number | null } | null {
  const match = /^(?:\[([^\]]*)\]|([^:\s]*))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return null;
  const [, v6, name, digits] = match;
  const host = (v6 ?? name ?? '').toLowerCase();
  if (host.length > MOST_HOST || (v6 === undefined ? !NAME.test(host) : !V6.test(host))) return null;
  const port = digits === undefined ? null : numberOf(digits, MOST_PORT);
  return digits !== undefined && (port === null || port === 0) ? null : { host, port };
}

/** A host as it is written: IPv6 addresses in brackets. */
export function hostText(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Decodes the escapes of a user part. */
export function userText(user: string): string {
  return user.replaceAll(/%([0-9a-f]{2})/gi, (_escape, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** The user of an address: the user part of a SIP URI, or the number of a `tel:` URI; empty = none. */
export function userOf(uri: string): string {
  const sip = parseSipUri(uri);
  if (sip !== null) return userText((sip.user ?? '').split(';', 1)[0] ?? '');
  return /^tel:([^;]*)/i.exec(uri)?.[1]?.replaceAll(/[-.()]/g, '') ?? '';
}

/** Encodes text as a user part. */
export function userPart(text: string): string {
  return text.replaceAll(
    /[^A-Za-z0-9\-_.!~*'()&=+$,]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
  );
}

function uriParameters(pieces: readonly string[]): Parameters | null {
  const parameters = new Map<string, string | null>();
  for (const piece of pieces) {
    const equals = piece.indexOf('=');
    const name = (equals < 0 ? piece : piece.slice(0, equals)).toLowerCase();
    const value = equals < 0 ? null : piece.slice(equals + 1);
    if (!PARAMETER.test(name) || (value !== null && !PARAMETER.test(value))) return null;
    if (!parameters.has(name)) parameters.set(name, value);
  }
  return parameters;
}
