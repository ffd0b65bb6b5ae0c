import { type Parameters, parametersOf, trimmed, unquoted } from './scan.js';
import { parseSipUri, schemeOf, type SipUri } from './uri.js';

/** A `name-addr` or `addr-spec`: the value of `From`, `To`, `Contact`, `Route` and similar headers. */
export interface Address {
  /** One character per byte; empty = none. */
  displayName: string;
  /** As received. */
  uri: string;
  /** Null if the URI has another scheme. */
  sip: SipUri | null;
  /** Header parameters, such as `tag`. */
  parameters: Parameters;
}

/** @returns null for an invalid address or SIP URI */
export function parseAddress(text: string): Address | null {
  const open = openingBracket(text);
  if (open === null) return null;
  let displayName = '';
  let uri: string;
  let rest: string;
  if (open >= 0) {
    const close = text.indexOf('>', open);
    if (close < 0) return null;
    const name = unquoted(trimmed(text.slice(0, open)));
    if (name === null) return null;
    displayName = name;
    uri = trimmed(text.slice(open + 1, close));
    rest = trimmed(text.slice(close + 1));
  } else {
    // Without brackets, parameters after the first semicolon are the header's (20.10), and a question mark is not
    // allowed.
    const semicolon = text.indexOf(';');
    uri = trimmed(semicolon < 0 ? text : text.slice(0, semicolon));
    rest = semicolon < 0 ? '' : text.slice(semicolon);
    if (/[?,]/.test(uri)) return null;
  }
  const scheme = schemeOf(uri);
  const parameters = parametersOf(rest);
  if (scheme === null || parameters === null || /\s/.test(uri)) return null;
  const sip = parseSipUri(uri);
  if (sip === null && (scheme === 'sip' || scheme === 'sips')) return null;
  return { displayName, uri, sip, parameters };
}

/** Position of the URI's opening bracket, outside a quoted name; -1 = none, null = invalid quotes. */
function openingBracket(text: string): number | null {
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted && char === '\\') at++;
    else if (char === '"') quoted = !quoted;
    else if (char === '<' && !quoted) return at;
  }
  return quoted ? null : -1;
}
