import type { MediaSocket } from './media-socket.js';

/** A carrier's request with its body. */
export interface WebhookRequest {
  method: string;
  /** Requested path and query. */
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
}

export interface WebhookReply {
  status: number;
  contentType: string;
  body: string;
}

/** The state of a carrier with webhooks and media sockets. */
export interface CarrierState {
  name: string;
  /** The own numbers. */
  numbers: readonly string[];
  /** Calls in progress. */
  calls: number;
}

/** What a request is about. */
export interface WebhookSubject {
  /** Of parley, in addresses that belong to one call; null = the request is not about one, or has only the carrier's id. */
  token: string | null;
  /** The carrier's id of a call. */
  callId: string | null;
}

/**
 * The web interface of a carrier with webhooks and media sockets: a web server passes everything below `path` to it. It
 * refuses requests without the carrier's signature.
 */
export interface WebhookEndpoint {
  /** Its path without a trailing slash, such as `/carriers/twilio`. */
  readonly path: string;
  /** The carrier's name. */
  readonly name: string;
  /** Refused, dropped and unreadable requests so far, by name. */
  counts(): Readonly<Record<string, number>>;
  readonly state: CarrierState;
  /** The call that a webhook or a requested media socket (without a body) is about. It may be another process's. */
  subjectOf(request: Omit<WebhookRequest, 'method'>): WebhookSubject;
  /** Answers a webhook. Never rejects. */
  request(request: WebhookRequest): Promise<WebhookReply>;
  /** The handler of a requested media socket; null = it is refused (403). */
  admit(request: Omit<WebhookRequest, 'body' | 'method'>): ((socket: MediaSocket) => void) | null;
}

export const REFUSED: WebhookReply = { status: 403, contentType: 'text/plain', body: 'the signature is not right' };
export const UNKNOWN: WebhookReply = { status: 404, contentType: 'text/plain', body: 'nothing is here' };

/** The segments of a path below a root, without the query; empty if it is not below it. */
export function segmentsBelow(root: string, path: string): string[] {
  const [plain = ''] = path.split('?');
  return plain.startsWith(`${root}/`) ? plain.slice(root.length + 1).split('/') : [];
}

/** The headers of a request as `WebhookRequest` has them: of a repeated header the first, or what Node makes of them. */
export function headersOf(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const first = Array.isArray(value) ? value[0] : value;
      return first === undefined ? [] : [[name, first]];
    }),
  );
}
