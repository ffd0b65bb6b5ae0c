import type { CallEnd } from '../carriers/carrier.js';
import type { EndStatus } from '../../conversation/events.js';

/** How far a call has come. A call goes through these in order, leaving out what does not happen to it. */
export type CallProgress = 'registered' | 'queued' | 'dispatching' | 'initiated' | 'ringing' | 'in-progress';

/** How a call ended. One that was answered ends as its session does. */
export type CallEndStatus = EndStatus | 'canceled';

export type CallStatus = CallProgress | CallEndStatus;

/**
 * The status of a call in which no agent spoke.
 * @param answered somebody picked up nevertheless
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
