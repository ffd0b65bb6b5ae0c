import type { Cancel, Clock } from '../../../base/clock.js';
import type { Dialog } from '../dialog/dialog.js';
import type { DigestClient } from '../digest.js';
import type { Hop } from '../hop.js';
import type { SipRequest } from '../message.js';
import type { ServerTransaction } from '../transactions/transaction.js';
import type { Transactions } from '../transactions/transactions.js';

/** Receives the requests of a dialog, and of a call before its dialog. */
export interface DialogReceiver {
  receive(request: SipRequest, server: ServerTransaction, hop: Hop): void;
  /** The ACK of a 2xx. */
  acknowledged(ack: SipRequest): void;
}

/** What calls need from their user agent. */
export interface CallCore {
  readonly clock: Clock;
  readonly transactions: Transactions;
  /** Null: no credentials. */
  readonly digest: DigestClient | null;
  /** A unique, unpredictable short string. */
  token(): string;
  /** 0 ≤ number < 1 */
  chance(): number;
  /** The own `Contact` for this peer. */
  contact(hop: Hop): string;
  /** Finds the destination of a dialog's next request; synchronously for an IP address. */
  route(dialog: Dialog, use: (hop: Hop) => void): void;
  /** Delivers requests with this Call-ID and local tag. */
  listen(callId: string, localTag: string, receiver: DialogReceiver): Cancel;
}

/** Supported methods. REFER is not among them: no one may make an agent call others. */
export const ALLOW = 'INVITE, ACK, BYE, CANCEL, OPTIONS, UPDATE, PRACK, INFO, NOTIFY';
/** Supported extensions (RFC 3262, 4028, 3891). */
const KNOWN = ['100rel', 'timer', 'replaces'];
export const SUPPORTED = KNOWN.join(', ');

/** Unsupported extensions in `Require`. */
export function unknownExtensions({ headers }: SipRequest): string[] {
  return (headers.values('require') ?? []).filter((tag) => !KNOWN.includes(tag.toLowerCase()));
}

/** Supported features as headers. */
export function abilities(): [name: string, value: string][] {
  return [
    ['allow', ALLOW],
    ['supported', SUPPORTED],
  ];
}
