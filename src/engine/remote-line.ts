import type { Session } from '../session/session.js';
import type { Transport } from '../transports/transport.js';
import type { SessionRecord } from './session-recorder.js';
import type { SessionRequest } from './options.js';

/** A session as those who hold it see it, whichever thread it runs in. */
export type SessionHandle = Pick<Session, keyof Session>;

/**
 * This thread's end of a line whose sound lies in another one. Only what a session needs to be made is true of it as a
 * `Transport`: nothing is heard on it here, and nothing played.
 */
export interface RemoteLine extends Transport {
  /** Makes a session where the line is. @throws ParleyError as `Engine.createSession`, MEDIA_THREAD_LOST */
  openSession(request: SessionRequest): Promise<RemoteSession>;
  /** This line, with something else that its session's transfers do; it ends after the outcome has been told. */
  transferringBy(transfer: NonNullable<Transport['transfer']>): Transport;
}

export interface RemoteSession {
  session: SessionHandle;
  /** What is known of it for those who are told when it is over. */
  told: Omit<SessionRecord, 'outcome'>;
}

export function isRemote(line: Transport): line is RemoteLine {
  return 'openSession' in line;
}
