import { EventEmitter } from 'node:events';
import type { SessionEvent } from '../session/session-options.js';
import type { StoredCall } from '../store/calls.js';

/** Something happened in the session of a call. */
export interface SessionActivity {
  sessionId: string;
  /** Null = the agent is not stored. */
  agentId: string | null;
  event: SessionEvent;
}

/** Events by name. Those of the call log come in the transaction that writes them: a listener that throws undoes it. */
export interface CallEventMap {
  /** A call is in the log. It may still be registered, queued or ringing. */
  'call.created': [call: StoredCall];
  /** A call that goes on has another status. */
  'call.status': [call: StoredCall];
  'call.ended': [call: StoredCall];
  'session.event': [activity: SessionActivity];
}

/** What happens in calls. Listeners run at once, in the order in which they were added. */
export class CallEventBus extends EventEmitter<CallEventMap> {
  /** Listens to all changes of calls in the log. */
  onCall(listener: (call: StoredCall) => void): void {
    this.on('call.created', listener);
    this.on('call.status', listener);
    this.on('call.ended', listener);
  }

  /** An observer of a session that emits what happens in it. */
  observer(sessionId: string, agentId: string | null): (event: SessionEvent) => void {
    return (event) => void this.emit('session.event', { sessionId, agentId, event });
  }
}
