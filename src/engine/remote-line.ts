import type { WebhookAddress } from '../agent/webhook.js';
import type { CallFacts } from '../session/record/call-history.js';
import type { Session } from '../session/session.js';
import type { Transport } from '../transports/transport.js';
import type { SessionRequest } from './options.js';

/** A session as those who hold it see it, whichever thread it runs in. */
export type SessionHandle = Pick<Session, keyof Session>;

/** A line in another thread. Its sound stays there, and so does a session on it. */
export interface RemoteLine {
  readonly name: string;
  /** Makes a session where the line is. @throws ParleyError as `Engine.createSession`, MEDIA_THREAD_LOST */
  openSession(request: Omit<SessionRequest, 'transport'>): Promise<RemoteSession>;
  /** This line, with something else that its session's transfers do; it ends after the outcome is known. */
  transferringBy(transfer: NonNullable<Transport['transfer']>): RemoteLine;
  /** As `Transport.close`. */
  close(): Promise<void>;
}

/** What a session can be made on. */
export type SessionLine = Transport | RemoteLine;

export interface RemoteSession {
  session: SessionHandle;
  /** What its record says besides how its call ends, and who is sent that; null = nobody. */
  record: { to: WebhookAddress | null; facts: Omit<CallFacts, 'outcome'> };
}

export function isRemote(line: SessionLine): line is RemoteLine {
  return 'openSession' in line;
}
