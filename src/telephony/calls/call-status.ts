import type { CallEnd } from '../carriers/carrier.js';
import type { EndStatus } from '../../conversation/events.js';

/** The progress of a call, in this order; steps that do not happen are skipped. */
export type CallProgress = 'registered' | 'queued' | 'dispatching' | 'initiated' | 'ringing' | 'in-progress';

/** How a call ended. An answered call ends like its session. */
export type CallEndStatus = EndStatus | 'canceled';

export type CallStatus = CallProgress | CallEndStatus;

/**
 * The status of a call without a session.
 * @param answered the call was answered anyway
 */
export function silentStatus({ cause, by }: CallEnd, answered: boolean): CallEndStatus {
  switch (cause) {
    case 'busy':
    case 'no-answer':
    case 'canceled':
      return cause;
    case 'hangup':
    case 'transferred':
      if (by === 'agent') return 'api-ended';
      return answered ? 'user-ended' : 'canceled';
    case 'rejected':
      return by === 'agent' ? 'canceled' : 'failed';
    case 'failed':
      return 'failed';
  }
}
