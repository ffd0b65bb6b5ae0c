import type { Cancel } from '../../base/clock.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { TransferOutcome, Transport } from '../../transports/transport.js';

/**
 * A phone network: numbers, and calls to and from them. Every carrier passes the contract suite in `src/testing`.
 * Numbers are E.164 (`+12025550123`); a SIP trunk takes `sip:` addresses as well. The lines of its calls may be in other
 * threads where `Line` says so.
 */
export interface Carrier<Line extends SessionLine = Transport> {
  readonly name: string;
  /** Numbers that can be bought, none where nothing fits. */
  searchNumbers(query: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]>;
  /** @throws ParleyError NUMBER_UNAVAILABLE for one that is not for sale, or was bought meanwhile */
  buyNumber(number: string, signal: AbortSignal): Promise<void>;
  /**
   * Has calls to a number of ours come to us again, where somebody has sent them elsewhere, or our address is another
   * one now. Carriers that do not need this omit it. @throws ParleyError NUMBER_NOT_OWNED
   */
  directNumber?(number: string, signal: AbortSignal): Promise<void>;
  /** Gives a number back; calls that are under way go on. @throws ParleyError NUMBER_NOT_OWNED */
  releaseNumber(number: string, signal: AbortSignal): Promise<void>;
  /** Numbers of ours. */
  ownedNumbers(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Places a call. Its states report the outcome, a refusal included.
   * @throws ParleyError NUMBER_INVALID for what is no number of this network's kind, CARRIER_CLOSED
   */
  placeCall(request: CallRequest): CarrierCall<Line>;
  /**
   * Calls to our numbers go to `listener`, which answers them or hangs up. There is one listener at a time; without one
   * callers hear that the number is not in service. A listener that throws has refused the call.
   */
  receiveCalls(listener: (call: CarrierCall<Line>) => void): Cancel;
  /** Ends all calls. May be called twice. */
  close(): Promise<void>;
}

export interface NumberQuery {
  /** ISO 3166 alpha-2, such as `US`. */
  country: string;
  /** Digits behind the country's code. */
  areaCode?: string;
  /** Default 10. */
  limit?: number;
}

export interface NumberOffer {
  number: string;
  country: string;
  /** What the number costs a month, in US cents. */
  monthlyCents: number;
}

export interface CallRequest {
  /** One of our numbers. */
  from: string;
  to: string;
  /** The call is given up when nobody has answered for so long. */
  ringTimeoutMs: number;
  /** Passed on by networks that can: SIP headers, custom parameters. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * - `initiated`: the network has the call.
 * - `ringing`: it rings at the far end.
 * - `answered`: both hear each other.
 * - `ended`: for good; `end` tells why.
 */
export type CallState = 'initiated' | 'ringing' | 'answered' | 'ended';

export interface CarrierCall<Line extends SessionLine = Transport> {
  /** The carrier's own. */
  readonly id: string;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly state: CallState;
  /** Null until the call has ended. */
  readonly end: CallEnd | null;
  /**
   * The audio, once the call is answered: a line that closes when the call ends, and ends the call when it is closed.
   * It may be started as soon as the call is there. Where the carrier can transfer calls blindly, it has `transfer`.
   */
  readonly line: Line;
  /** Each state from now on, in order, `ended` once. A listener that throws does not stop the others. */
  onState(listener: (state: CallState) => void): Cancel;
  /** Takes an inbound call; of no effect on others and on calls that have ended. */
  answer(): void;
  /**
   * Ends the call, or refuses or cancels it while it rings. May be called twice.
   * @param refusal why a call that comes in is not taken, for networks that tell callers. Default `declined`
   */
  hangUp(refusal?: CallRefusal): void;
  /**
   * Places a call from the number of ours that this call has, to ask somebody whether they take it. Carriers without
   * `connectTo` leave this out.
   * @throws ParleyError as `Carrier.placeCall`
   */
  placeBeside?(target: string, ringTimeoutMs: number): CarrierCall<Line>;
  /**
   * Attended transfer: connects the far end of this call with that of another one, which was placed to ask whether it
   * takes the call. After success the agent has left both. Carriers that cannot do it leave this out.
   */
  connectTo?(other: CarrierCall<Line>, signal: AbortSignal): Promise<TransferOutcome>;
  /** The carrier's own account of the call, as far as it has gone. */
  record(): CallRecord;
  /** Resolves when the account of a call that has ended is whole. Default: at once. */
  readonly recorded?: Promise<void> | undefined;
}

/**
 * Why a call that comes in is not taken: nobody wants it (`declined`); nobody is there for it (`unavailable`); there is no
 * room for it just now, somebody else may have some (`full`); something is broken (`failed`).
 */
export type CallRefusal = 'declined' | 'unavailable' | 'full' | 'failed';

/** What networks say to callers, as SIP does (RFC 3261, 21). */
export const REFUSALS: Readonly<Record<CallRefusal, { status: number; reason: string }>> = {
  declined: { status: 603, reason: 'Decline' },
  unavailable: { status: 480, reason: 'Temporarily Unavailable' },
  full: { status: 503, reason: 'Service Unavailable' },
  failed: { status: 500, reason: 'Server Internal Error' },
};

/** Whether callers hear that the line is busy; else that nobody is to be had there. */
export function isBusyTone(refusal: CallRefusal): boolean {
  return refusal === 'declined' || refusal === 'full';
}

/** How a call ends that is not taken. */
export function refused(refusal: CallRefusal): CallEnd {
  const { status, reason } = REFUSALS[refusal];
  return { cause: 'rejected', by: 'agent', reason: `${String(status)} ${reason}` };
}

export type CallEndCause =
  /** One of the two hung up after the answer, or the caller of an inbound call before it. */
  | 'hangup'
  /** The far end talks with somebody else now. */
  | 'transferred'
  /** We gave it up before the answer. */
  | 'canceled'
  | 'busy'
  | 'no-answer'
  /** The far end, or we with an inbound call, would not take it. */
  | 'rejected'
  /** No such number, or the network is broken. */
  | 'failed';

export interface CallEnd {
  cause: CallEndCause;
  by: 'agent' | 'remote' | 'network';
  /** In the network's words, such as `486 Busy Here`. */
  reason: string;
}

export interface CallRecord {
  callId: string;
  carrier: string;
  direction: 'inbound' | 'outbound';
  from: string;
  to: string;
  /** When each state began, in milliseconds of the carrier's clock; null = it was never reached. */
  initiatedMs: number;
  ringingMs: number | null;
  answeredMs: number | null;
  endedMs: number | null;
  end: CallEnd | null;
  codec: string;
  digitsSent: string;
  digitsReceived: string;
  transfer: { target: string; outcome: TransferOutcome } | null;
  /**
   * Packets of 20 ms, as the far end and we got them. `early`: those that came before the answer, ringing and
   * announcements, which nobody heard.
   */
  packets: { sent: number; sentLost: number; received: number; receivedLost: number; early?: number };
  /** What the carrier takes whoever answered for, in its own word (`human`, `machine_end_beep`), where it was asked. */
  machine?: { answeredBy: string; toldMs: number };
  /** The carrier's own id of the call, where `callId` is ours. */
  networkCallId?: string;
}
