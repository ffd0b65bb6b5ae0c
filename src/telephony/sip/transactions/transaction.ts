import type { Clock } from '../../../base/clock.js';
import type { SipRequest, SipResponse } from '../message.js';

/** Why a request has no final response. */
export type ClientFailure = 'timeout' | 'transport';

/** Events of a client transaction. */
export interface ClientUser {
  /**
   * Provisional ones, and the final one once; for an INVITE each 2xx, also repeated ones and those of other branches of
   * a forked call.
   */
  onResponse(response: SipResponse): void;
  /** No final response will come. Once, and never after a final response. */
  onFailure(failure: ClientFailure): void;
}

export interface ClientOptions {
  clock: Clock;
  request: SipRequest;
  /** Whether the transport is reliable: then nothing is retransmitted. */
  reliable: boolean;
  send: (bytes: Uint8Array) => void;
  user: ClientUser;
  /** The transaction is over; called last. */
  onTerminated: () => void;
}

/** A sent request and its responses. */
export interface ClientTransaction {
  readonly request: SipRequest;
  /** Whether a final response has come, or none will. */
  readonly isAnswered: boolean;
  /** Handles a response of this transaction. */
  receive(response: SipResponse): void;
  /** A sent message cannot be delivered. */
  transportFailed(): void;
  /** Ends it silently. May be called twice. */
  close(): void;
}

export interface ServerOptions {
  clock: Clock;
  request: SipRequest;
  reliable: boolean;
  send: (bytes: Uint8Array) => void;
  onTerminated: () => void;
}

/** A received request and its responses. */
export interface ServerTransaction {
  readonly request: SipRequest;
  /** The sent final status; null = none yet. */
  readonly finalStatus: number | null;
  /** No effect after a final response, except for repeated 2xx to an INVITE. */
  respond(response: SipResponse): void;
  /** The request was repeated, or its ACK has come. */
  receive(request: SipRequest): void;
  transportFailed(): void;
  close(): void;
}
