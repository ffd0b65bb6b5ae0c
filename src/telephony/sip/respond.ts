import type { Hop } from './hop.js';
import { Headers } from './headers.js';
import { NO_BODY, type SipRequest, type SipResponse, tagOf, topVia, viaText } from './message.js';

/** Reason phrases by status (RFC 3261, 21, and later ones). */
const REASONS: Readonly<Record<number, string>> = {
  100: 'Trying',
  180: 'Ringing',
  181: 'Call Is Being Forwarded',
  182: 'Queued',
  183: 'Session Progress',
  200: 'OK',
  202: 'Accepted',
  300: 'Multiple Choices',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  416: 'Unsupported URI Scheme',
  420: 'Bad Extension',
  421: 'Extension Required',
  422: 'Session Interval Too Small',
  423: 'Interval Too Brief',
  480: 'Temporarily Unavailable',
  481: 'Call/Transaction Does Not Exist',
  482: 'Loop Detected',
  486: 'Busy Here',
  487: 'Request Terminated',
  488: 'Not Acceptable Here',
  489: 'Bad Event',
  491: 'Request Pending',
  500: 'Server Internal Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  504: 'Server Time-out',
  505: 'Version Not Supported',
  600: 'Busy Everywhere',
  603: 'Decline',
};

export function reasonPhrase(status: number): string {
  return REASONS[status] ?? 'Unknown';
}

const SIP_PORT = 5060;

export interface ResponseParts {
  reason?: string;
  /** The tag of the local side, added to a `To` without one. */
  toTag?: string;
  headers?: Iterable<readonly [name: string, value: string]>;
  body?: Uint8Array | undefined;
}

/** A response to a request (RFC 3261, 8.2.6). */
export function responseTo(request: SipRequest, status: number, parts: ResponseParts = {}): SipResponse {
  const { reason = reasonPhrase(status), toTag, headers: more = [], body = NO_BODY } = parts;
  const headers = new Headers();
  for (const via of request.headers.lines('via')) headers.add('via', via);
  // The first request of a dialog determines its route, which is copied; others do not (12.1.1).
  if (status > 100 && status < 300 && request.method === 'INVITE') {
    for (const route of request.headers.lines('record-route')) headers.add('record-route', route);
  }
  const to = request.headers.get('to') ?? '';
  headers.add('from', request.headers.get('from') ?? '');
  headers.add('to', toTag === undefined || status === 100 || tagOf(request, 'to') !== null ? to : `${to};tag=${toTag}`);
  headers.add('call-id', request.headers.get('call-id') ?? '');
  headers.add('cseq', request.headers.get('cseq') ?? '');
  for (const [name, value] of more) headers.add(name, value);
  return { kind: 'response', status, reason, headers, body };
}

/**
 * Adds the real source to a request's first `Via` (18.2.1, and RFC 3581, 4).
 * @returns the destination of responses; null without a usable `Via`
 */
export function noteSource(request: SipRequest, from: Hop): Hop | null {
  const via = topVia(request);
  if (via === null) return null;
  const parameters = new Map(via.parameters);
  const symmetric = parameters.has('rport');
  if (symmetric) parameters.set('rport', String(from.port));
  if (symmetric || via.host !== from.address) parameters.set('received', from.address);
  const values = request.headers.values('via') ?? [];
  request.headers.remove('via');
  request.headers.prepend('via', [viaText({ ...via, parameters }), ...values.slice(1)].join(', '));
  if (from.protocol !== 'UDP' || symmetric) return from;
  return { ...from, port: via.port ?? SIP_PORT };
}
