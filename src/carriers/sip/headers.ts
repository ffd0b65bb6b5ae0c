import { parseAddress } from '../../sip/address.js';
import type { InboundCall } from '../../sip/call/inbound.js';
import type { SipRequest } from '../../sip/message.js';
import { utf8Of, wireOf } from '../../sip/scan.js';
import { type CallRefusal, REFUSALS } from '../carrier.js';
import { numberOfUser } from './numbers.js';

/** Headers that callers send along and that agents may be told. */
const PASSED_ON = /^(?:x-|p-|diversion$|history-info$|user-to-user$|subject$)/;
/** Headers of requests that whoever places a call may set. */
const SETTABLE = /^(?:x-[a-z0-9-]{1,60}|p-asserted-identity|p-preferred-identity|privacy|user-to-user|subject)$/i;
const MOST_HEADER_CHARS = 1000;
/** Of ids and names that others make up. */
export const MOST_ID_CHARS = 200;

/** Whoever is full may have room soon, and others have now (RFC 3261, 20.33). */
const RETRY_AFTER_S = '10';

/** Tells a caller why nobody takes the call. */
export function refuse(inbound: InboundCall, refusal: CallRefusal = 'declined'): void {
  const { status } = REFUSALS[refusal];
  inbound.reject(status, status === 503 ? { headers: [['retry-after', RETRY_AFTER_S]] } : {});
}

/** Who calls: what the trunk vouches for (RFC 3325), or what the caller says. */
export function callerOf(inbound: InboundCall): string {
  const [asserted] = inbound.request.headers.values('p-asserted-identity') ?? [];
  const user = asserted === undefined ? null : parseAddress(asserted)?.sip?.user;
  const told = user ?? inbound.from;
  return told === '' ? 'anonymous' : numberOfUser(told.slice(0, MOST_ID_CHARS));
}

/** What a caller sends along that agents may be told. */
export function passedOn({ headers }: SipRequest): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of headers)
    if (PASSED_ON.test(name)) passed[name] ??= utf8Of(value).slice(0, MOST_HEADER_CHARS);
  return passed;
}

/** What whoever places a call may send along. */
export function settable(headers: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(headers)
    .filter(([name, value]) => SETTABLE.test(name) && !/[\r\n\0]/.test(value) && value.length <= MOST_HEADER_CHARS)
    .map(([name, value]) => [name.toLowerCase(), wireOf(value)]);
}
