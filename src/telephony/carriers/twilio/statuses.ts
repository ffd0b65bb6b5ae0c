import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd } from '../carrier.js';

/** SIP answers for a rejected call (RFC 3261, 21.6.2; RFC 8197; RFC 8688). */
const DECLINED = new Set(['603', '607', '608']);

/**
 * The end for a Twilio status; null = the call continues.
 * @param form of the callback
 * @param wasAnswered whether audio flowed both ways
 */
export function endOf(status: string, form: URLSearchParams, wasAnswered: boolean): CallEnd | null {
  const sip = form.get('SipResponseCode') ?? '';
  const error = form.get('ErrorMessage') ?? form.get('ErrorCode') ?? '';
  const details = [sip === '' ? '' : `SIP ${sip}`, error.slice(0, 200)].filter((one) => one !== '').join(', ');
  const reason = details === '' ? status : `${status} (${details})`;
  const end = (cause: CallEnd['cause'], by: CallEnd['by']): CallEnd => ({ cause, by, reason });
  switch (status) {
    case 'completed':
      // Answered, and over before audio flowed: the called person hung up.
      return end('hangup', 'remote');
    case 'busy':
      return DECLINED.has(sip) ? end('rejected', 'remote') : end('busy', 'remote');
    case 'no-answer':
      return end('no-answer', 'network');
    case 'canceled':
      return wasAnswered ? end('hangup', 'network') : end('canceled', 'network');
    case 'failed':
      return DECLINED.has(sip) ? end('rejected', 'remote') : end('failed', 'network');
    default:
      return null;
  }
}

/** The outcome of a transfer as reported by `<Dial>`. */
export function dialOutcome(form: URLSearchParams): TransferOutcome {
  const [status, sip] = [form.get('DialCallStatus') ?? '', form.get('DialSipResponseCode') ?? ''];
  if (status === 'completed' || status === 'answered') return { ok: true };
  if (DECLINED.has(sip)) return { ok: false, reason: 'rejected' };
  return { ok: false, reason: status === 'busy' || status === 'no-answer' ? status : 'failed' };
}
