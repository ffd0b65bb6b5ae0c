import { parseAddress } from './address.js';
import { addressOf, callIdOf, contactOf, cseqOf, type SipRequest, type SipResponse, topVia } from './message.js';
import { numberOf } from './scan.js';
import { parseSipUri, schemeOf } from './uri.js';

/** Why a message is refused, briefly, for `Reason-Phrase` and the counters. */
export interface RequestRefusal {
  status: number;
  why: string;
}

/** Headers that occur at most once. */
const SINGLE = ['to', 'from', 'call-id', 'cseq', 'max-forwards', 'content-type'];
const KNOWN_METHODS = new Set(
  'ACK BYE CANCEL INFO INVITE MESSAGE NOTIFY OPTIONS PRACK PUBLISH REFER REGISTER SUBSCRIBE UPDATE'.split(' '),
);

/**
 * Why a parsed request is invalid (RFC 3261, 8.1.1 and 8.2); null = valid. A request without a `Via` cannot be answered
 * at all: see `topVia`.
 */
export function refusalOf(request: SipRequest): RequestRefusal | null {
  const { headers, method, uri } = request;
  for (const name of SINGLE) if (headers.lines(name).length > 1) return { status: 400, why: `Two ${name}` };
  if (callIdOf(request) === '') return { status: 400, why: 'No Call-ID' };
  const cseq = cseqOf(request);
  if (cseq === null) return { status: 400, why: 'Bad CSeq' };
  if (cseq.method !== method) {
    return KNOWN_METHODS.has(method)
      ? { status: 400, why: 'CSeq of another method' }
      : { status: 501, why: 'Not Implemented' };
  }
  const from = addressOf(request, 'from');
  const to = addressOf(request, 'to');
  if (from === null) return { status: 400, why: 'Bad From' };
  if (to === null) return { status: 400, why: 'Bad To' };
  const hops = headers.get('max-forwards');
  if (hops !== undefined && numberOf(hops.replace(/^0+(?=\d)/, ''), 255) === null) {
    return { status: 400, why: 'Bad Max-Forwards' };
  }
  return badUri(uri) ?? badContact(request);
}

/** Whether a response can belong to a transaction; RFC 3261 drops others. */
export function isUsableResponse(response: SipResponse): boolean {
  const cseq = cseqOf(response);
  const vias = response.headers.values('via');
  return (
    cseq !== null &&
    // With two it is for another client (18.1.2).
    vias?.length === 1 &&
    topVia(response) !== null &&
    callIdOf(response) !== '' &&
    addressOf(response, 'from') !== null &&
    addressOf(response, 'to') !== null
  );
}

function badUri(uri: string): RequestRefusal | null {
  const scheme = schemeOf(uri);
  if (scheme === null) return { status: 400, why: 'Bad Request-URI' };
  if (scheme === 'tel') return null;
  if (scheme !== 'sip' && scheme !== 'sips') return { status: 416, why: 'Unsupported URI Scheme' };
  const parsed = parseSipUri(uri);
  // Headers are not allowed in a Request-URI (19.1.1).
  return parsed === null || parsed.headers !== null ? { status: 400, why: 'Bad Request-URI' } : null;
}

function badContact(request: SipRequest): RequestRefusal | null {
  const contacts = request.headers.values('contact');
  if (contacts === null) return { status: 400, why: 'Bad Contact' };
  for (const contact of contacts) {
    if (contact !== '*' && parseAddress(contact) === null) return { status: 400, why: 'Bad Contact' };
  }
  // The destination of a dialog's requests: required (8.1.1.8), and must be reachable.
  if (request.method !== 'INVITE') return null;
  const contact = contactOf(request);
  return contact === null && request.headers.has('contact') ? { status: 400, why: 'Bad Contact' } : null;
}
