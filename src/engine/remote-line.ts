import type { WebhookAddress } from '../agent/webhook.js';
import type { CallFacts } from '../session/record/call-history.js';
import type { Session } from '../session/session.js';
import type { Transport } from '../transports/transport.js';
import type { SessionRequest } from './options.js';
import type { WaitingCaller, WaitingRequest } from './waiting.js';
import { lineOver } from '../session/line-over.js';

/** The public methods of a session, in whichever thread it runs. */
export type SessionHandle = Pick<Session, keyof Session>;

/** A line in another thread. Its audio and its session stay in that thread. */
export interface RemoteLine {
  readonly name: string;
  /** Creates a session in the line's thread. @throws ParleyError as `Engine.createSession`, MEDIA_THREAD_LOST */
  openSession(request: Omit<SessionRequest, 'transport'>): Promise<RemoteSession>;
  /** Opens the line for a caller who waits for a session. @throws ParleyError as `Engine.openWaiting` */
  openWaiting(request: Omit<WaitingRequest, 'transport'>): Promise<WaitingCaller>;
  /** This line with another implementation of transfers; it ends after their outcome is known. */
  transferringBy(transfer: NonNullable<Transport['transfer']>): RemoteLine;
  /** Like `Transport.close`. */
  close(): Promise<void>;
}

/** What a session can use as its line: a transport of this thread, or a line in another one. */
export type SessionLine = Transport | RemoteLine;

export interface RemoteSession {
  session: SessionHandle;
  /** `facts`: its record without the outcome of the call. `to`: the webhook for the record; null = none. */
  record: { to: WebhookAddress | null; facts: Omit<CallFacts, 'outcome'> };
}

export function isRemote(line: SessionLine): line is RemoteLine {
  return 'openSession' in line;
}

/**
 * A line with another implementation of transfers. If it closes meanwhile, it reports that only when the outcome is
 * known.
 */
export function lineTransferringBy(line: SessionLine, transfer: NonNullable<Transport['transfer']>): SessionLine {
  if (isRemote(line)) return line.transferringBy(transfer);
  let isTransferring = false;
  let close: (() => void) | null = null;
  return lineOver(line, {
    start: (sink) =>
      line.start({
        audio: (samples) => sink.audio(samples),
        digits: (keys) => sink.digits(keys),
        text: (text) => sink.text(text),
        formResult: (id, value) => sink.formResult(id, value),
        closed: (error) => {
          close = () => sink.closed(error);
          if (!isTransferring) close();
        },
      }),
    transfer: async (target, signal) => {
      isTransferring = true;
      const outcome = await transfer(target, signal);
      isTransferring = false;
      if (!outcome.ok) close?.(); // after a success the session is over
      return outcome;
    },
  });
}
