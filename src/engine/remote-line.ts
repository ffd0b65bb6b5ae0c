import type { WebhookAddress } from '../agent/webhook.js';
import type { CallFacts } from '../session/record/call-history.js';
import type { Session } from '../session/session.js';
import type { Transport } from '../transports/transport.js';
import type { SessionRequest } from './options.js';

/** The public methods of a session, in whichever thread it runs. */
export type SessionHandle = Pick<Session, keyof Session>;

/** A line in another thread. Its audio and its session stay in that thread. */
export interface RemoteLine {
  readonly name: string;
  /** Creates a session in the line's thread. @throws ParleyError as `Engine.createSession`, MEDIA_THREAD_LOST */
  openSession(request: Omit<SessionRequest, 'transport'>): Promise<RemoteSession>;
  /** This line with another implementation of transfers; it ends after their outcome is known. */
  transferringBy(transfer: NonNullable<Transport['transfer']>): RemoteLine;
  /** Like `Transport.close`. */
  close(): Promise<void>;
}

/** The line of a session. */
export type SessionLine = Transport | RemoteLine;

export interface RemoteSession {
  session: SessionHandle;
  /** `facts`: its record without the outcome of the call. `to`: the webhook for the record; null = none. */
  record: { to: WebhookAddress | null; facts: Omit<CallFacts, 'outcome'> };
}

export function isRemote(line: SessionLine): line is RemoteLine {
  return 'openSession' in line;
}
