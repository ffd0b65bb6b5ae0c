import { InvalidConfigError } from '../../config/issues.js';
import { ParleyError, reasonOf } from '../../errors.js';

/** What follows from a call that was not taken. */
export type Consequence =
  /** No campaign places a call for a while. `untilFree`: or until a call ends. */
  | { type: 'block'; forMs: number; untilFree: boolean }
  /** The record is called later. */
  | { type: 'postpone'; forMs: number }
  /** The record is not called, for good. */
  | { type: 'refuse'; reason: string }
  /** The campaign cannot call. `isFault`: because of a fault of parley's own. */
  | { type: 'fail'; reason: string; isFault: boolean };

/** Longer than this nothing is waited for unseen: what the limits depend on changes. */
const LONGEST_BLOCK_S = 30;

/** @param error what `Dialer.dial` has thrown */
export function consequenceOf(error: unknown): Consequence {
  if (error instanceof InvalidConfigError) {
    const isNumber = error.issues.every(({ loc }) => loc[1] === 'to_phone');
    const reason = error.issues.map(({ msg }) => msg).join('; ');
    return isNumber
      ? { type: 'refuse', reason }
      : { type: 'fail', reason: `its agent cannot call: ${reason}`, isFault: false };
  }
  if (!(error instanceof ParleyError)) return { type: 'fail', reason: `a fault: ${reasonOf(error)}`, isFault: true };
  const retryAfterS = error.details['retryAfterS'];
  const afterS = typeof retryAfterS === 'number' ? retryAfterS : 5;
  switch (error.code) {
    case 'LIMIT_DESTINATION_PER_MINUTE':
    case 'LIMIT_DESTINATION_PER_DAY':
      return { type: 'postpone', forMs: afterS * 1000 };
    case 'LIMIT_CONCURRENT_CALLS':
    case 'SESSIONS_FULL':
      return { type: 'block', forMs: Math.min(afterS, LONGEST_BLOCK_S) * 1000, untilFree: true };
    case 'LIMIT_CALLS_PER_MINUTE':
    case 'LIMIT_MINUTES_PER_DAY':
    case 'CALLS_STOPPED':
    case 'DAEMON_DRAINING':
      return { type: 'block', forMs: Math.min(afterS, LONGEST_BLOCK_S) * 1000, untilFree: false };
    case 'DO_NOT_CALL':
    case 'CALL_FORBIDDEN':
    case 'CALL_NOT_ALLOWED':
    case 'NUMBER_INVALID':
      return { type: 'refuse', reason: error.message };
    default:
      return { type: 'fail', reason: error.message, isFault: false };
  }
}
