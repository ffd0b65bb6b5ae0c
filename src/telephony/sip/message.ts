import { type Address, parseAddress } from './address.js';
import { type Headers, writtenName } from './headers.js';
import { numberOf, isToken, type Parameters, parametersOf, parametersText, trimmed } from './scan.js';
import { hostText, parseHostPort } from './uri.js';

/** A request (RFC 3261, 7.1). */
export interface SipRequest {
  kind: 'request';
  method: string;
  /** As received. */
  uri: string;
  headers: Headers;
  body: Uint8Array;
}

/** A response (RFC 3261, 7.2). */
export interface SipResponse {
  kind: 'response';
  /** 100..699 */
  status: number;
  reason: string;
  headers: Headers;
  body: Uint8Array;
}

export type SipMessage = SipRequest | SipResponse;

export interface CSeq {
  /** Below 2^31. */
  sequence: number;
  method: string;
}

export const NO_BODY = new Uint8Array(0);
/** CSeq numbers are below it (RFC 3261, 8.1.1.5). */
const MOST_SEQUENCE = 2 ** 31 - 1;

export function cseqOf({ headers }: SipMessage): CSeq | null {
  const match = /^(\d+)[ \t]+(\S+)$/.exec(headers.get('cseq') ?? '');
  const sequence = match === null ? null : numberOf((match[1] ?? '').replace(/^0+(?=\d)/, ''), MOST_SEQUENCE);
  return sequence === null ? null : { sequence, method: match?.[2] ?? '' };
}

export function callIdOf({ headers }: SipMessage): string {
  return headers.get('call-id') ?? '';
}

export function addressOf({ headers }: SipMessage, name: 'from' | 'to'): Address | null {
  return parseAddress(headers.get(name) ?? '');
}

/** The tag of `From` or `To`; null = none. */
export function tagOf(message: SipMessage, name: 'from' | 'to'): string | null {
  return addressOf(message, name)?.parameters.get('tag') ?? null;
}

/** The sender's address for further requests; null = none. */
export function contactOf({ headers }: SipMessage): Address | null {
  const [first] = headers.values('contact') ?? [];
  return first === undefined || first === '*' ? null : parseAddress(first);
}

/** The previous hop. */
export function topVia({ headers }: SipMessage): Via | null {
  const [first] = headers.values('via') ?? [];
  return first === undefined ? null : parseVia(first);
}

/** The body's media type without parameters, in lower case; empty = none. */
export function contentTypeOf({ headers }: SipMessage): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function bodyText({ body }: SipMessage): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

/** Serialises a message; `Content-Length` is computed from its body. */
export function messageBytes(message: SipMessage): Uint8Array {
  const start =
    message.kind === 'request'
      ? `${message.method} ${message.uri} SIP/2.0`
      : `SIP/2.0 ${String(message.status)} ${message.reason}`;
  let head = `${start}\r\n`;
  for (const [name, value] of message.headers) {
    if (name !== 'content-length') head += `${writtenName(name)}: ${value}\r\n`;
  }
  head += `Content-Length: ${String(message.body.length)}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + message.body.length);
  bytes.write(head, 0, 'latin1');
  bytes.set(message.body, head.length);
  return bytes;
}

/** One hop of a request (RFC 3261, 20.42). */
interface Via {
  /** In capitals, such as `UDP`. */
  transport: string;
  host: string;
  port: number | null;
  parameters: Parameters;
}

/** Prefix of globally unique branches (RFC 3261, 8.1.1.7). */
export const MAGIC_COOKIE = 'z9hG4bK';

/** Any version: requests of other versions are answered, too. */
const VIA = /^SIP[ \t]*\/[ \t]*\d\.\d[ \t]*\/[ \t]*([^ \t;,/]+)[ \t]+([^;]+)(;.*)?$/i;

/** @returns null if invalid */
function parseVia(text: string): Via | null {
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
