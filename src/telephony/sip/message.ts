import { type Address, parseAddress } from './address.js';
import type { Headers } from './headers.js';
import { numberOf } from './scan.js';
import { parseVia, type Via } from './via.js';

/** A request (RFC 3261, 7.1). */
export interface SipRequest {
  kind: 'request';
  method: string;
  /** As it came. */
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

/** The tag of `From` or `To`; null where it has none. */
export function tagOf(message: SipMessage, name: 'from' | 'to'): string | null {
  return addressOf(message, name)?.parameters.get('tag') ?? null;
}

/** Where the sender wants further requests; null where it does not say. */
export function contactOf({ headers }: SipMessage): Address | null {
  const [first] = headers.values('contact') ?? [];
  return first === undefined || first === '*' ? null : parseAddress(first);
}

/** The last stop before us. */
export function topVia({ headers }: SipMessage): Via | null {
  const [first] = headers.values('via') ?? [];
  return first === undefined ? null : parseVia(first);
}

/** The type of the body without its parameters, in lower case; empty = none is given. */
export function contentTypeOf({ headers }: SipMessage): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function bodyText({ body }: SipMessage): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}
