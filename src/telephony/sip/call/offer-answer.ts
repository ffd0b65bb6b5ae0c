import { ParleyError } from '../../../base/errors.js';
import { bodyText, contentTypeOf, type SipMessage } from '../message.js';
import { parametersOf } from '../scan.js';

/** Creates and handles session descriptions (RFC 3264) for one call. */
export interface OfferAnswer {
  offer(): string;
  /**
   * The answer to the last offer. @throws ParleyError SDP_INVALID, MEDIA_UNSUPPORTED; the previous agreement stays in
   * force
   */
  accept(answer: string): void;
  /** The answer to an offer. @throws as `accept` */
  answer(offer: string): string;
  /** The last offer has failed. */
  rollback(): void;
}

export const SDP_TYPE = 'application/sdp';
const MOST_PARTS = 16;

/** The session description of a message, alone or in a part of its body (RFC 5621); null = none. */
export function sdpOf(message: SipMessage): string | null {
  if (message.body.length === 0) return null;
  const type = contentTypeOf(message);
  if (type === SDP_TYPE) return bodyText(message);
  if (!type.startsWith('multipart/')) return null;
  const header = message.headers.get('content-type') ?? '';
  const boundary = parametersOf(header.slice(Math.max(0, header.indexOf(';'))))?.get('boundary');
  if (boundary == null) return null;
  for (const part of bodyText(message).split(`--${boundary}`).slice(1, MOST_PARTS)) {
    const end = part.search(/\r?\n\r?\n/);
    if (end >= 0 && /^content-type[ \t]*:[ \t]*application\/sdp/im.test(part.slice(0, end))) {
      return part.slice(end).replace(/^\r?\n\r?\n/, '');
    }
  }
  return null;
}

/** Whether there is a body of an unsupported type. */
export function hasStrangeBody(message: SipMessage): boolean {
  return message.body.length > 0 && sdpOf(message) === null;
}

/** A header of a refusal with the reason, if the media do not match (RFC 3261, 20.43). */
export function warningOf(error: unknown): [string, string][] {
  if (!(error instanceof ParleyError) || error.code !== 'MEDIA_UNSUPPORTED') return [];
  const why = String(error.details['reason'])
    .replaceAll(/[^ -~]/g, '?')
    .replaceAll(/["\\]/g, "'");
  return [['warning', `${/address/.test(why) ? '301' : '305'} parley "${why}"`]];
}

/** The status of a refusal for this error. */
export function refusalStatus(error: unknown): 400 | 488 | 500 {
  if (!(error instanceof ParleyError)) return 500;
  return error.code === 'SDP_INVALID' ? 400 : error.code === 'MEDIA_UNSUPPORTED' ? 488 : 500;
}
