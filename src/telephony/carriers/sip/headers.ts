import { parseAddress } from '../../sip/address.js';
import type { InboundCall } from '../../sip/call/inbound.js';
import type { Headers } from '../../sip/headers.js';
import { addressOf, type SipRequest } from '../../sip/message.js';
import { utf8Of, wireOf } from '../../sip/scan.js';
import { userOf } from '../../sip/uri.js';
import { RETRY_AFTER_S } from '../../sip/user-agent.js';
import { type CallRefusal, REFUSALS } from '../carrier.js';

/** Callers' headers that agents may see. */
const PASSED_ON = /^(?:x-|p-|diversion$|history-info$|user-to-user$|subject$)/;
/** Request headers that the placer of a call may set. */
const SETTABLE = /^(?:x-[a-z0-9-]{1,60}|p-asserted-identity|p-preferred-identity|privacy|user-to-user|subject)$/i;
const MOST_HEADER_CHARS = 1000;
/** A caller without a number, or with a withheld one (RFC 3323). */
export const ANONYMOUS = 'anonymous';
/** Maximum length of ids and names from outside. */
export const MOST_ID_CHARS = 200;

/** Refuses a call with a reason. */
export function refuse(inbound: InboundCall, refusal: CallRefusal = 'declined'): void {
  const { status } = REFUSALS[refusal];
  inbound.reject(status, status === 503 ? { headers: [['retry-after', RETRY_AFTER_S]] } : {});
}

/**
 * The caller: as asserted by the trunk (RFC 3325) unless withheld, otherwise as claimed by the caller.
 * @param read reads a user part as a number, if it is one
 */
export function callerOf(inbound: InboundCall, read: (user: string) => string): string {
  const { headers } = inbound.request;
  const [asserted] = isWithheld(headers, 'id') ? [] : (headers.values('p-asserted-identity') ?? []);
  const user = asserted === undefined ? '' : userOf(parseAddress(asserted)?.uri ?? '');
  const caller = user === '' ? inbound.from : user;
  return caller === '' ? ANONYMOUS : read(caller.slice(0, MOST_ID_CHARS));
}

/** A caller's headers that agents may see. */
export function passedOn({ headers }: SipRequest): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (!PASSED_ON.test(name) || isPrivate(name, headers)) continue;
    passed[name] ??= utf8Of(value).slice(0, MOST_HEADER_CHARS);
  }
  return passed;
}

/** Other names of the called party in a request: `P-Called-Party-ID` (RFC 7315, 4.2), then `To`. */
export function otherwiseCalled(request: SipRequest): string[] {
  const [party] = request.headers.values('p-called-party-id') ?? [];
  const called = party === undefined ? null : parseAddress(party);
  return [called, addressOf(request, 'to')].flatMap((address) => {
    const user = userOf(address?.uri ?? '');
    return user === '' ? [] : [user];
  });
}

/** Whether the caller requests this kind of privacy (RFC 3323, 4.2). */
function isWithheld(headers: Headers, kind: 'id' | 'history'): boolean {
  const kinds = (headers.values('privacy') ?? []).flatMap((value) => value.split(';'));
  return kinds.some((text) => text.trim().toLowerCase() === kind);
}

/** `id` withholds the caller (RFC 3325, 9.3), `history` the earlier called parties (RFC 7044, 10.1). */
function isPrivate(name: string, headers: Headers): boolean {
  if (/^p-(?:asserted|preferred)-identity$/.test(name)) return isWithheld(headers, 'id');
  return /^(?:diversion|history-info)$/.test(name) && isWithheld(headers, 'history');
}

/** The header with the calling number in addition to `From` (RFC 3325), or none. */
export type Identity = 'none' | 'asserted' | 'preferred';

/** The identity header of an outbound call; none if the request has its own. */
export function identityOf(
  address: string,
  identity: Identity,
  own: readonly (readonly [name: string, value: string])[],
): [string, string][] {
  if (identity === 'none' || own.some(([name]) => /^p-(?:asserted|preferred)-identity$/.test(name))) return [];
  return [[`p-${identity}-identity`, address]];
}

/** The headers that the placer of a call may set. */
export function settable(headers: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(headers)
    .filter(([name, value]) => SETTABLE.test(name) && !/[\r\n\0]/.test(value) && value.length <= MOST_HEADER_CHARS)
    .map(([name, value]) => [name.toLowerCase(), wireOf(value)]);
}
