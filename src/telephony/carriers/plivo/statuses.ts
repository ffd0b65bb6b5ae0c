import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd } from '../carrier.js';

/**
 * Plivo's codes for the end of a call. @see https://docs.plivo.com/docs/voice/troubleshooting/hangup-causes
 * (2026-11-22)
 */
const CODES = { canceled: '1000', noAnswer: '3000', busy: '3010', rejected: '3020', rangOut: '6010' };
/** Sources that mean that Plivo or parley ended the call. */
const NETWORK = new Set(['Plivo', 'API Request', 'Answer XML', 'Error']);

/**
 * The end for a hangup callback.
 * @param form `CallStatus`, `HangupCauseCode`, `HangupCauseName`, `HangupSource`
 * @param wasAnswered whether audio flowed both ways
 */
export function endOf(form: URLSearchParams, direction: 'inbound' | 'outbound', wasAnswered: boolean): CallEnd {
  const [status, code] = [form.get('CallStatus') ?? '', form.get('HangupCauseCode') ?? ''];
  const name = (form.get('HangupCauseName') ?? form.get('HangupCause') ?? '').slice(0, 100);
  const reason = `${name === '' ? status : name}${code === '' ? '' : ` (${code.slice(0, 10)})`}`;
  const end = (cause: CallEnd['cause'], by: CallEnd['by']): CallEnd => ({ cause, by, reason });
  const isTheirs = !NETWORK.has(form.get('HangupSource') ?? '');
  if (wasAnswered) return end('hangup', isTheirs ? 'remote' : 'network');
  // A caller who hung up before the answer.
  if (direction === 'inbound') return end('hangup', isTheirs ? 'remote' : 'network');
  switch (code) {
    case CODES.canceled:
      return end('canceled', 'network');
    case CODES.noAnswer:
    case CODES.rangOut:
      return end('no-answer', 'network');
    case CODES.busy:
      return end('busy', 'remote');
    case CODES.rejected:
      return end('rejected', 'remote');
  }
  switch (status) {
    case 'completed':
      // Answered, and over before audio flowed: the called person hung up.
      return end('hangup', 'remote');
    case 'busy':
      return end('busy', 'remote');
    case 'no-answer':
      return end('no-answer', 'network');
    case 'cancel':
    case 'canceled':
      return end('canceled', 'network');
    default:
      return end('failed', 'network');
  }
}

/** The outcome of a transfer as reported by `<Dial>`. @see https://docs.plivo.com/docs/voice/xml/dial (2026-11-22) */
export function dialOutcome(form: URLSearchParams): TransferOutcome {
  const status = form.get('DialStatus') ?? '';
  const cause = form.get('DialHangupCause') ?? '';
  if (status === 'completed') return { ok: true };
  if (cause === 'CALL_REJECTED') return { ok: false, reason: 'rejected' };
  if (status === 'busy') return { ok: false, reason: 'busy' };
  const hasRungOut = status === 'no-answer' || (status === 'timeout' && cause === 'NO_ANSWER');
  return { ok: false, reason: hasRungOut ? 'no-answer' : 'failed' };
}
