import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd } from '../carrier.js';

/** From `call.hangup`: why a leg ended, and which side ended it. */
export interface Hangup {
  cause: string;
  source: string;
  /** SIP status; empty = none. */
  sip: string;
}

/** SIP answers for a rejected call (RFC 3261, 21.6.2; RFC 8197; RFC 8688). */
const DECLINED = new Set(['603', '607', '608']);
const BUSY = new Set(['486', '600']);
/** Unavailable, not answered, cancelled (RFC 3261, 21.4.5, 21.4.18, 21.4.25). */
const UNANSWERED = new Set(['408', '480', '487']);

/**
 * The end for the hangup of parley's leg.
 * @param wasAnswered whether audio flowed both ways
 */
export function endOf(hangup: Hangup, direction: 'inbound' | 'outbound', wasAnswered: boolean): CallEnd {
  const { cause, source, sip } = hangup;
  const reason = sip === '' ? cause : `${cause} (SIP ${sip})`;
  const end = (what: CallEnd['cause'], by: CallEnd['by']): CallEnd => ({ cause: what, by, reason });
  const ourSide = direction === 'outbound' ? 'caller' : 'callee';
  if (wasAnswered) return end('hangup', cause === 'normal_clearing' && source !== ourSide ? 'remote' : 'network');
  switch (cause) {
    // Answered, and over before audio flowed: the called person hung up.
    case 'normal_clearing':
      return end('hangup', 'remote');
    case 'originator_cancel':
      return direction === 'inbound' ? end('hangup', 'remote') : end('canceled', 'agent');
    case 'time_limit':
      return end('failed', 'network');
    default: {
      const why = unansweredBecause(hangup);
      return end(why, why === 'busy' || why === 'rejected' ? 'remote' : 'network');
    }
  }
}

/** The outcome of a transfer, from the hangup of the target's leg. */
export function transferOutcome(hangup: Hangup): TransferOutcome {
  // Answered, and over before the answer was reported.
  if (hangup.cause === 'normal_clearing' || hangup.cause === 'time_limit') return { ok: true };
  return { ok: false, reason: unansweredBecause(hangup) };
}

function unansweredBecause({ cause, sip }: Hangup): 'busy' | 'rejected' | 'no-answer' | 'failed' {
  switch (cause) {
    case 'user_busy':
      return DECLINED.has(sip) ? 'rejected' : 'busy';
    case 'call_rejected':
      return 'rejected';
    case 'timeout':
    case 'no_answer':
      return 'no-answer';
    case 'unspecified':
      if (BUSY.has(sip)) return 'busy';
      if (DECLINED.has(sip)) return 'rejected';
      return UNANSWERED.has(sip) ? 'no-answer' : 'failed';
    default:
      return 'failed';
  }
}
