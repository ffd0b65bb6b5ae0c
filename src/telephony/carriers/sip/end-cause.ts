import type { SpecialInformation } from '../../../audio/tones/special-information-tones.js';
import type { OutboundFailure } from '../../sip/call/outbound.js';
import type { LegEnd } from '../../sip/call/leg.js';
import type { TransferFailure } from '../../../transports/transport.js';
import type { CallEnd } from '../carrier.js';

/** The meaning of a final response to an INVITE (RFC 3261, 21; 607 and 608: RFC 8197 and 8688). */
function causeOf(status: number): Pick<CallEnd, 'cause' | 'by'> {
  switch (status) {
    case 486:
    case 600:
      return { cause: 'busy', by: 'remote' };
    case 408:
    case 480:
    case 487:
      return { cause: 'no-answer', by: 'remote' };
    case 603:
    case 607:
    case 608:
      return { cause: 'rejected', by: 'remote' };
    default:
      return { cause: 'failed', by: 'network' };
  }
}

/** Gateways are more specific with ITU-T Q.850 than with the status: 503 may mean busy. */
const Q850: ReadonlyMap<number, Pick<CallEnd, 'cause' | 'by'>> = new Map([
  [1, { cause: 'failed', by: 'network' }], // unallocated number
  [17, { cause: 'busy', by: 'remote' }],
  [18, { cause: 'no-answer', by: 'remote' }],
  [19, { cause: 'no-answer', by: 'remote' }],
  [20, { cause: 'no-answer', by: 'remote' }], // subscriber absent
  [21, { cause: 'rejected', by: 'remote' }],
  [22, { cause: 'failed', by: 'network' }], // number changed
  [28, { cause: 'failed', by: 'network' }], // invalid number format
]);

/**
 * Why an outbound call failed.
 * @param announced meaning of special information tones before; null = none
 */
export function endOfFailure(failure: OutboundFailure, announced: SpecialInformation | null = null): CallEnd {
  const { status, reason, q850, isCancelled } = failure;
  if (isCancelled) return { cause: 'canceled', by: 'agent', reason };
  const known = Q850.get(q850 ?? 0);
  if (known !== undefined) return { ...known, reason };
  const cause = status === null ? ({ cause: 'failed', by: 'network' } as const) : causeOf(status);
  return asAnnounced({ ...cause, reason }, announced);
}

/** The end of a call after an announcement, which is more specific than silence or a generic status. */
export function asAnnounced(end: CallEnd, announced: SpecialInformation | null): CallEnd {
  if (announced === null || (end.cause !== 'no-answer' && end.cause !== 'failed')) return end;
  const reason = `${end.reason}; special information tones were heard before the answer`;
  return { cause: announced, by: 'network', reason };
}

/** The end of an answered call. */
export function endOfLeg({ by, reason }: LegEnd): CallEnd {
  if (by === 'local') return { cause: 'hangup', by: 'agent', reason };
  return by === 'remote' ? { cause: 'hangup', by: 'remote', reason } : { cause: 'failed', by: 'network', reason };
}

/** Why the target of a transfer did not take the call. */
export function failureOfEnd(end: CallEnd | null): TransferFailure {
  const cause = end?.cause ?? 'failed';
  if (cause === 'canceled') return 'no-answer';
  return cause === 'busy' || cause === 'no-answer' || cause === 'rejected' ? cause : 'failed';
}

export function failureOfStatus(status: number | null): TransferFailure {
  if (status === null) return 'failed';
  const { cause } = causeOf(status);
  return cause === 'busy' || cause === 'no-answer' || cause === 'rejected' ? cause : 'failed';
}
