import { EventEmitter } from 'node:events';
import type { SessionEvent } from '../session/session-options.js';
import type { StoredCall } from '../store/calls.js';

/** An event of a call's session. */
export interface SessionActivity {
  sessionId: string;
  /** Null = the agent is not stored. */
  agentId: string | null;
  event: SessionEvent;
}

/** Events by name. The call log emits its events in the transaction that writes them: a throwing listener undoes it. */
export interface CallEventMap {
  /** A call is in the log. It may still be registered, queued or ringing. */
  'call.created': [call: StoredCall];
  /** The status of a call has changed, and the call has not ended. */
  'call.status': [call: StoredCall];
  'call.ended': [call: StoredCall];
  'session.event': [activity: SessionActivity];
}

/** Events of calls. Listeners run synchronously, in the order in which they were added. */
export class CallEventBus extends EventEmitter<CallEventMap> {
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
