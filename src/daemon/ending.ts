import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../errors.js';
import type { CallStore } from '../store/calls.js';
import type { Dialer } from './dialing/dialer.js';
import type { RegisteredCalls } from './registered-calls.js';
import type { Telephone } from './telephone.js';

export interface EndingOptions {
  engine: Engine;
  dialer: Pick<Dialer, 'end'>;
  registered: Pick<RegisteredCalls, 'end'>;
  calls: Pick<CallStore, 'get'>;
  /** Null where it has not been needed. */
  telephone: () => Promise<Telephone> | null;
}

/**
 * Ends a session, whatever it is and however far it has come: it is over soon after, `api-ended`, or `canceled` where it
 * had not begun.
 * @param message is said first, where there is a conversation; the session then ends `agent-ended`
 * @throws ParleyError NOT_FOUND, SESSION_CLOSED
 */
export async function endSession(
  sessionId: string,
  options: EndingOptions,
  message: string | null = null,
): Promise<void> {
  const { engine, dialer, registered, calls } = options;
  if (message !== null && calls.get(sessionId)?.status === 'in-progress') {
    const talking = [...engine.sessions].find(({ id }) => id === sessionId);
    if (talking !== undefined) {
      talking.say(message);
      talking.finish();
      return;
    }
  }
  if (dialer.end(sessionId) || registered.end(sessionId)) return;
  const call = (await options.telephone())?.find(sessionId);
  if (call != null) {
    void call.hangUp();
    return;
  }
  for (const session of engine.sessions) {
    if (session.id !== sessionId) continue;
    void session.close();
    return;
  }
  const stored = calls.get(sessionId);
  if (stored === null) throw new ParleyError('NOT_FOUND', { what: 'session', id: sessionId });
  if (stored.endedUs !== null) throw new ParleyError('SESSION_CLOSED');
}
