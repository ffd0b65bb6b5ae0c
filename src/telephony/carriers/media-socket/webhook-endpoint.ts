import type { MediaSocket } from './media-socket.js';

/** A request of the carrier's to us, whose body has been read. */
export interface WebhookRequest {
  method: string;
  /** Path and query as they were asked for, from the slash behind the host. */
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

/** How a carrier with webhooks and media sockets is. */
export interface CarrierState {
  name: string;
  /** Those that are ours. */
  numbers: readonly string[];
  /** Under way. */
  calls: number;
}

/**
 * What a carrier with webhooks and media sockets wants of a web server: it gives everything below `path` to the door.
 * Requests that the carrier has not signed are refused by it.
 */
export interface WebhookEndpoint {
  /** Where the door is, without a slash at the end, such as `/carriers/twilio`. */
  readonly path: string;
  /** The carrier's name. */
  readonly name: string;
  /** What was refused, dropped or could not be read, so far, by name. */
  counts(): Readonly<Record<string, number>>;
  readonly state: CarrierState;
  /** Answers a webhook. Never rejects. */
  request(request: WebhookRequest): Promise<WebhookReply>;
  /** What to do with a media socket that is asked for; null = it is refused (403). */
  admit(request: Omit<WebhookRequest, 'body' | 'method'>): ((socket: MediaSocket) => void) | null;
}

export const REFUSED: WebhookReply = { status: 403, contentType: 'text/plain', body: 'the signature is not right' };
export const UNKNOWN: WebhookReply = { status: 404, contentType: 'text/plain', body: 'nothing is here' };

/** The parts of a path below a door, without the query; none for what is not below it. */
export function segmentsBelow(door: string, path: string): string[] {
  const [plain = ''] = path.split('?');
  return plain.startsWith(`${door}/`) ? plain.slice(door.length + 1).split('/') : [];
}
