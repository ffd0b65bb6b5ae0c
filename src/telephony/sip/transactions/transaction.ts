import type { Clock } from '../../../base/clock.js';
import type { SipRequest, SipResponse } from '../message.js';

/** Why a request got no final response. */
export type ClientFailure = 'timeout' | 'transport';

/** What a client transaction tells its user. */
export interface ClientUser {
  /**
   * Provisional ones, and the final one once; of an INVITE each 2xx, also repeated ones and those of other branches of
   * a forked call.
   */
  onResponse(response: SipResponse): void;
  /** Nothing final came, and nothing will. Once, and never after a final response. */
  onFailure(failure: ClientFailure): void;
}

export interface ClientOptions {
  clock: Clock;
  request: SipRequest;
  /** Whether the transport is: then nothing is sent twice. */
  reliable: boolean;
  send: (bytes: Uint8Array) => void;
  user: ClientUser;
  /** The transaction is over; the last thing that it does. */
  onTerminated: () => void;
}

/** One request, and what comes back. */
export interface ClientTransaction {
  readonly request: SipRequest;
  /** Whether a final response has come, or none will. */
  readonly isAnswered: boolean;
  /** A response of this transaction has come. */
  receive(response: SipResponse): void;
  /** What it has sent cannot be delivered. */
  transportFailed(): void;
  /** Ends it without a word. May be called twice. */
  close(): void;
}

export interface ServerOptions {
  clock: Clock;
  request: SipRequest;
  reliable: boolean;
  send: (bytes: Uint8Array) => void;
  onTerminated: () => void;
}

/** One request that has come, and our answers. */
export interface ServerTransaction {
  readonly request: SipRequest;
  /** The final status that was sent; null = none yet. */
  readonly finalStatus: number | null;
  /** Of no effect after a final response, but for repeated 2xx to an INVITE. */
  respond(response: SipResponse): void;
  /** The request has come again, or its ACK. */
  receive(request: SipRequest): void;
  transportFailed(): void;
  close(): void;
}
