import { headerName, Headers } from './headers.js';
import type { SipMessage, SipRequest } from './message.js';
import { isToken, numberOf, trimmed } from './scan.js';

/** Why bytes are not a valid message. */
export type SipFault =
  | 'empty'
  | 'too-long'
  | 'start-line'
  | 'version'
  | 'status'
  | 'header-line'
  | 'too-many-headers'
  | 'no-end'
  | 'content-length'
  | 'short-body';

export type Parsed =
  | { ok: true; message: SipMessage; /** Bytes used. */ length: number }
  /** `request`: the readable part of a request, for an answer with `status`; null = no answer. */
  | { ok: false; fault: SipFault; status: 400 | 505; request: SipRequest | null };

/** Maximum size of the head with all headers, in bytes. */
export const MOST_HEAD = 16_384;
/** Maximum size of the body, in bytes. */
export const MOST_BODY = 49_152;
const MOST_HEADERS = 128;

const CR = 13;
const LF = 10;
const REQUEST_LINE = /^(\S+) (\S+) SIP\/(\d{1,3}\.\d{1,3})$/i;
const STATUS_LINE = /^SIP\/(\d{1,3}\.\d{1,3}) (\d+)(?: (.*))?$/is;

/**
 * Parses one message (RFC 3261, 7). Never throws, in linear time.
 * @param datagram whether the bytes are one message: without a length its body then extends to their end
 */
export function parseMessage(bytes: Uint8Array, datagram = true): Parsed {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let start = 0;
  while (buffer[start] === CR || buffer[start] === LF) start++;
  if (start === buffer.length) return bad('empty');
  const end = headEnd(buffer, start);
  if (end === null) return bad(buffer.length - start > MOST_HEAD ? 'too-long' : 'no-end');
  if (end.at - start > MOST_HEAD) return bad('too-long');
  const [startLine = '', ...lines] = unfolded(buffer.toString('latin1', start, end.at));
  const headers = readHeaders(lines);
  if (typeof headers === 'string') return bad(headers, partial(startLine, readable(lines)));
  const message = readStart(startLine, headers);
  if (typeof message === 'string') {
    return bad(message, partial(startLine, headers), message === 'version' ? 505 : 400);
  }
  const there = buffer.length - end.next;
  const length = bodyLength(headers, datagram ? there : 0);
  const answered = message.kind === 'request' ? message : null;
  if (length === null || length > MOST_BODY) return bad('content-length', answered);
  if (length > there) return bad('short-body', answered);
  message.body = buffer.subarray(end.next, end.next + length);
  return { ok: true, message, length: end.next + length };
}

/**
 * The body length according to the headers.
 * @param otherwise without a header
 * @returns null for an invalid or contradictory length
 */
export function bodyLength(headers: Headers, otherwise: number): number | null {
  const given = headers.lines('content-length');
  if (given.length === 0) return otherwise;
  if (given.length > 1) return null;
  return numberOf(given[0] ?? '', Number.MAX_SAFE_INTEGER);
}

/** End of the head and start of the body; null = not complete yet. */
export function headEnd(buffer: Buffer, start: number): { at: number; next: number } | null {
  const within = buffer.subarray(0, start + MOST_HEAD + 4);
  const at = within.indexOf('\r\n\r\n', start, 'latin1');
  const bare = within.indexOf('\n\n', start, 'latin1');
  if (bare >= 0 && (at < 0 || bare < at)) return { at: bare, next: bare + 2 };
  return at < 0 ? null : { at, next: at + 4 };
}

/** Lines, with continuation lines joined (7.3.1). */
function unfolded(head: string): string[] {
  return head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
}

function readHeaders(lines: readonly string[]): Headers | SipFault {
  if (lines.length > MOST_HEADERS) return 'too-many-headers';
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = trimmed(line.slice(0, Math.max(0, colon)));
    if (!isToken(name)) return 'header-line';
    headers.add(headerName(name), trimmed(line.slice(colon + 1)));
  }
  return headers;
}

/** The readable ones among the lines. */
function readable(lines: readonly string[]): Headers {
  const good = lines.slice(0, MOST_HEADERS).filter((line) => /^[^\s:]+[ \t]*:/.test(line));
  const headers = readHeaders(good.filter((line) => isToken(trimmed(line.slice(0, line.indexOf(':'))))));
  return typeof headers === 'string' ? new Headers() : headers;
}

function readStart(line: string, headers: Headers): SipMessage | SipFault {
  const body = new Uint8Array(0);
  const response = STATUS_LINE.exec(line);
  if (response !== null) {
    const [, version, digits = '', reason = ''] = response;
    if (version !== '2.0') return 'version';
    const status = numberOf(digits, 699);
    if (status === null || status < 100) return 'status';
    return { kind: 'response', status, reason, headers, body };
  }
  const request = REQUEST_LINE.exec(line);
  if (request === null) return 'start-line';
  const [, method = '', uri = '', version] = request;
  if (!isToken(method)) return 'start-line';
  if (version !== '2.0') return 'version';
  return { kind: 'request', method, uri, headers, body };
}

/** The parts of a malformed request that are needed to answer it; null for a response or anything unknown. */
function partial(startLine: string, headers: Headers): SipRequest | null {
  const [method = ''] = startLine.split(/\s/, 1);
  if (!isToken(method) || /^SIP\//i.test(startLine)) return null;
  return { kind: 'request', method, uri: '', headers, body: new Uint8Array(0) };
}

function bad(fault: SipFault, request: SipRequest | null = null, status: 400 | 505 = 400): Parsed {
  return { ok: false, fault, status, request };
}
