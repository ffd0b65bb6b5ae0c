import { parseAddress } from '../../sip/address.js';
import type { InboundCall } from '../../sip/call/inbound.js';
import type { Headers } from '../../sip/headers.js';
import { addressOf, type SipRequest } from '../../sip/message.js';
import { utf8Of, wireOf } from '../../sip/scan.js';
import { userOf } from '../../sip/uri.js';
import { RETRY_AFTER_S } from '../../sip/user-agent.js';
import { type CallRefusal, REFUSALS } from '../carrier.js';

/** Headers of callers that agents may see. */
const PASSED_ON = /^(?:x-|p-|diversion$|history-info$|user-to-user$|subject$)/;
/** Headers of requests that whoever places a call may set. */
const SETTABLE = /^(?:x-[a-z0-9-]{1,60}|p-asserted-identity|p-preferred-identity|privacy|user-to-user|subject)$/i;
const MOST_HEADER_CHARS = 1000;
/** A caller who says nothing of himself, or withholds it (RFC 3323). */
export const ANONYMOUS = 'anonymous';
/** Of ids and names that others make up. */
export const MOST_ID_CHARS = 200;

/** Tells a caller why nobody takes the call. */
export function refuse(inbound: InboundCall, refusal: CallRefusal = 'declined'): void {
  const { status } = REFUSALS[refusal];
  inbound.reject(status, status === 503 ? { headers: [['retry-after', RETRY_AFTER_S]] } : {});
}

/**
 * Who calls: what the trunk vouches for (RFC 3325), unless the caller withholds it, or what the caller says.
 * @param read a user part as a number, where it is one
 */
export function callerOf(inbound: InboundCall, read: (user: string) => string): string {
  const { headers } = inbound.request;
  const [asserted] = isWithheld(headers, 'id') ? [] : (headers.values('p-asserted-identity') ?? []);
  const user = asserted === undefined ? '' : userOf(parseAddress(asserted)?.uri ?? '');
  const told = user === '' ? inbound.from : user;
  return told === '' ? ANONYMOUS : read(told.slice(0, MOST_ID_CHARS));
}

/** What agents may see of a caller's headers. */
export function passedOn({ headers }: SipRequest): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (!PASSED_ON.test(name) || isPrivate(name, headers)) continue;
    passed[name] ??= utf8Of(value).slice(0, MOST_HEADER_CHARS);
  }
  return passed;
}

/** Whom else a request names as called: `P-Called-Party-ID` (RFC 7315, 4.2), then `To`. */
export function otherwiseCalled(request: SipRequest): string[] {
  const [party] = request.headers.values('p-called-party-id') ?? [];
  const called = party === undefined ? null : parseAddress(party);
  return [called, addressOf(request, 'to')].flatMap((address) => {
    const user = userOf(address?.uri ?? '');
    return user === '' ? [] : [user];
  });
}

/** Whether the caller asks for this kind of privacy (RFC 3323, 4.2). */
function isWithheld(headers: Headers, kind: 'id' | 'history'): boolean {
  const kinds = (headers.values('privacy') ?? []).flatMap((value) => value.split(';'));
  return kinds.some((text) => text.trim().toLowerCase() === kind);
}

/** `id` withholds who calls (RFC 3325, 9.3), `history` who was called before (RFC 7044, 10.1). */
function isPrivate(name: string, headers: Headers): boolean {
  if (/^p-(?:asserted|preferred)-identity$/.test(name)) return isWithheld(headers, 'id');
  return /^(?:diversion|history-info)$/.test(name) && isWithheld(headers, 'history');
}

/** The header that carries the calling number beside `From` (RFC 3325), or none. */
export type Identity = 'none' | 'asserted' | 'preferred';

/** The identity header of a call of ours; none where the call brings one of its own. */
export function identityOf(
  address: string,
  identity: Identity,
  own: readonly (readonly [name: string, value: string])[],
): [string, string][] {
  if (identity === 'none' || own.some(([name]) => /^p-(?:asserted|preferred)-identity$/.test(name))) return [];
  return [[`p-${identity}-identity`, address]];
}

/** What whoever places a call may send along. */
export function settable(headers: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(headers)
    .filter(([name, value]) => SETTABLE.test(name) && !/[\r\n\0]/.test(value) && value.length <= MOST_HEADER_CHARS)
    .map(([name, value]) => [name.toLowerCase(), wireOf(value)]);
}
