import type { Cancel, Clock } from '../../../base/clock.js';
import type { Dialog } from '../dialog/dialog.js';
import type { DigestClient } from '../digest.js';
import type { Hop } from '../hop.js';
import type { SipRequest } from '../message.js';
import type { ServerTransaction } from '../transactions/transaction.js';
import type { Transactions } from '../transactions/transactions.js';

/** Requests of a dialog, and of a call that is to become one, come here. */
export interface DialogReceiver {
  receive(request: SipRequest, server: ServerTransaction, hop: Hop): void;
  /** The ACK of a 2xx. */
  acknowledged(ack: SipRequest): void;
}

/** What calls need of their user agent. */
export interface CallCore {
  readonly clock: Clock;
  readonly transactions: Transactions;
  /** Null: nothing can be proved. */
  readonly digest: DigestClient | null;
  /** A short string that nobody else has or guesses. */
  token(): string;
  /** 0 ≤ number < 1 */
  chance(): number;
  /** `Contact` of ours for who is reached there. */
  contact(hop: Hop): string;
  /** Finds where a dialog's next request goes; at once where that is an IP address. */
  route(dialog: Dialog, use: (hop: Hop) => void): void;
  /** Has requests with this Call-ID and our tag delivered. */
  listen(callId: string, localTag: string, receiver: DialogReceiver): Cancel;
}

/** What we take. REFER is not among it: nobody tells an agent whom to call. */
export const ALLOW = 'INVITE, ACK, BYE, CANCEL, OPTIONS, UPDATE, PRACK, INFO, NOTIFY';
/** Extensions that we know (RFC 3262, 4028, 3891). */
const KNOWN = ['100rel', 'timer', 'replaces'];
export const SUPPORTED = KNOWN.join(', ');

/** The extensions of `Require` that we do not know. */
export function unknownExtensions({ headers }: SipRequest): string[] {
  return (headers.values('require') ?? []).filter((tag) => !KNOWN.includes(tag.toLowerCase()));
}

/** What we can, as headers. */
export function abilities(): [name: string, value: string][] {
  return [
    ['allow', ALLOW],
    ['supported', SUPPORTED],
  ];
}
