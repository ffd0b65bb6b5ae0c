import { EventEmitter } from 'node:events';
import type { SessionEvent } from '../session/session-options.js';
import type { StoredCall } from '../store/calls.js';
import type { Transaction } from '../store/sql/statement.js';

/** An event of a call's session. */
export interface SessionActivity {
  sessionId: string;
  /** Null = the agent is not stored. */
  agentId: string | null;
  event: SessionEvent;
}

/** Events by name. The call log emits its events when they are stored, those of one call in their order. */
export interface CallEventMap {
  /** A call is in the log. It may still be registered, queued or ringing. */
  'call.created': [call: StoredCall];
  /** The status of a call has changed, and the call has not ended. */
  'call.status': [call: StoredCall];
  'call.ended': [call: StoredCall];
  'session.event': [activity: SessionActivity];
}

/**
 * Writes what belongs to a change of a call. It may run again from the start, so it changes nothing but the database, and
 * its rows have keys that the same change always gets.
 * @param agoUs how long ago the call changed
 */
export type CallPart = (call: StoredCall, agoUs: number) => Transaction<void>;

/** Events of calls. Listeners run synchronously, in the order in which they were added, after the change is stored. */
export class CallEventBus extends EventEmitter<CallEventMap> {
  readonly #parts: CallPart[] = [];

  /** Adds statements to the transaction of each change of a call in the log. A fault undoes the change. */
  within(part: CallPart): void {
    this.#parts.push(part);
  }

  /** The statements of all parts about a change. Run them in its transaction, after the call's own. */
  *partsOf(call: StoredCall, agoUs = 0): Transaction<void> {
    for (const part of this.#parts) yield* part(call, agoUs);
  }

  /** Adds a listener for all changes of calls in the log. */
  onCall(listener: (call: StoredCall) => void): void {
    this.on('call.created', listener);
    this.on('call.status', listener);
    this.on('call.ended', listener);
  }

  /** An observer that emits the events of a session. */
  observer(sessionId: string, agentId: string | null): (event: SessionEvent) => void {
    return (event) => void this.emit('session.event', { sessionId, agentId, event });
  }
}
