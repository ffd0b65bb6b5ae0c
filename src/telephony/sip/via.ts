import { isToken, type Parameters, parametersOf, parametersText, trimmed } from './scan.js';
import { hostText, parseHostPort } from './uri.js';

/** One stop on a request's way (RFC 3261, 20.42). */
export interface Via {
  /** In capitals, such as `UDP`. */
  transport: string;
  host: string;
  port: number | null;
  parameters: Parameters;
}

/** What branches begin with that are unique (RFC 3261, 8.1.1.7). */
export const MAGIC_COOKIE = 'z9hG4bK';

/** Of any version: a request of another one is answered, too. */
const VIA = /^SIP[ \t]*\/[ \t]*\d\.\d[ \t]*\/[ \t]*([^ \t;,/]+)[ \t]+([^;]+)(;.*)?$/i;

/** @returns null where it is none */
export function parseVia(text: string): Via | null {
  const match = VIA.exec(text);
  if (match === null) return null;
  const [, transport = '', sentBy = '', rest = ''] = match;
  const [host = '', port] = sentBy.split(/:(?=[ \t\d]*$)/);
  const place = parseHostPort(port === undefined ? trimmed(host) : `${trimmed(host)}:${trimmed(port)}`);
  const parameters = parametersOf(rest);
  if (!isToken(transport) || place === null || parameters === null) return null;
  return { transport: transport.toUpperCase(), ...place, parameters };
}

export function viaText({ transport, host, port, parameters }: Via): string {
  return `SIP/2.0/${transport} ${hostText(host)}${port === null ? '' : `:${String(port)}`}${parametersText(parameters)}`;
}
