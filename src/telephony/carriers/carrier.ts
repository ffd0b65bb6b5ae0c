import type { Cancel } from '../../base/clock.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { TransferOutcome, Transport } from '../../transports/transport.js';

/**
 * A phone network: numbers, and calls to and from them. Every carrier passes the contract suite in `src/testing`.
 * Numbers are E.164 (`+12025550123`); a SIP trunk also accepts `sip:` addresses. `Line` says whether the lines of its
 * calls may be in other threads.
 */
export interface Carrier<Line extends SessionLine = Transport> {
  readonly name: string;
  /** Numbers that can be bought; empty if none match. */
  searchNumbers(query: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]>;
  /** @throws ParleyError NUMBER_UNAVAILABLE for a number that is not for sale (any more) */
  buyNumber(number: string, signal: AbortSignal): Promise<void>;
  /**
   * Routes the calls of an own number to parley again, after a change of the routing or of the public address. Omitted
   * by carriers that do not need it. @throws ParleyError NUMBER_NOT_OWNED
   */
  directNumber?(number: string, signal: AbortSignal): Promise<void>;
  /** Releases a number; calls in progress continue. @throws ParleyError NUMBER_NOT_OWNED */
  releaseNumber(number: string, signal: AbortSignal): Promise<void>;
  /**
   * Replaces the own numbers, because another process has bought or released some. Asks no network. Omitted by carriers
   * whose numbers only this process changes.
   * @returns those of `numbers` that this network has
   */
  setOwned?(numbers: readonly string[]): readonly string[];
  /** The own numbers. */
  ownedNumbers(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Places a call. Its states report the outcome, including a refusal.
   * @throws ParleyError NUMBER_INVALID for a number that this network cannot call, CARRIER_CLOSED
   */
  placeCall(request: CallRequest): CarrierCall<Line>;
  /**
   * Sends calls to own numbers to `listener`, which answers them or hangs up. There is one listener at a time; without
   * one callers hear that the number is not in service. A listener that throws refuses the call.
   */
  receiveCalls(listener: (call: CarrierCall<Line>) => void): Cancel;
  /** Ends all calls. May be called twice. */
  close(): Promise<void>;
}

export interface NumberQuery {
  /** ISO 3166 alpha-2, such as `US`. */
  country: string;
  /** Digits after the country code. */
  areaCode?: string;
  /** Default 10. */
  limit?: number;
}

export interface NumberOffer {
  number: string;
  country: string;
  /** Monthly price in US cents. */
  monthlyCents: number;
}

export interface CallRequest {
  /** One of our numbers. */
  from: string;
  to: string;
  /** The call is cancelled if it is not answered in this time. */
  ringTimeoutMs: number;
  /** Its line must be on this thread, because it is not for an agent's session of its own. Default false. */
  isHere?: boolean | undefined;
  /** Sent by networks that support it: SIP headers, custom parameters. */
  headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * - `initiated`: the network has the call.
 * - `ringing`: it rings at the far end.
 * - `answered`: audio flows both ways.
 * - `ended`: final; `end` has the reason.
 */
export type CallState = 'initiated' | 'ringing' | 'answered' | 'ended';

export interface CarrierCall<Line extends SessionLine = Transport> {
  /** The carrier's id. */
  readonly id: string;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly state: CallState;
  /** Null until the call has ended. */
  readonly end: CallEnd | null;
  /**
   * The audio of the answered call: the line closes when the call ends, and closing it ends the call. It may be started
   * at once. If the carrier supports blind transfers, it has `transfer`.
   */
  readonly line: Line;
  /** Each state from now on, in order, `ended` once. A listener that throws does not stop the others. */
  onState(listener: (state: CallState) => void): Cancel;
  /** Answers an inbound call; no effect on outbound or ended calls. */
  answer(): void;
  /**
   * Ends the call, or refuses or cancels it while it rings. May be called twice.
   * @param refusal why an inbound call is refused, for networks that tell callers. Default `declined`
   */
  hangUp(refusal?: CallRefusal): void;
  /**
   * Places a call from this call's own number, to the target of an attended transfer. Omitted by carriers without
   * `connectTo`.
   * @throws ParleyError as `Carrier.placeCall`
   */
  placeBeside?(target: string, ringTimeoutMs: number): CarrierCall<Line>;
  /**
   * Attended transfer: connects the far end of this call with that of the call to the target. After success the agent
   * has left both. Omitted by carriers that do not support it.
   */
  connectTo?(other: CarrierCall<Line>, signal: AbortSignal): Promise<TransferOutcome>;
  /** The carrier's record of the call so far. */
  record(): CallRecord;
  /** Resolves when the record of an ended call is complete. Default: at once. */
  readonly recorded?: Promise<void> | undefined;
}

/**
 * Why an inbound call is refused: declined (`declined`); no one has the called address (`unknown`); no one is available
 * (`unavailable`); no capacity now, another server may have some (`full`); an error (`failed`).
 */
export type CallRefusal = 'declined' | 'unknown' | 'unavailable' | 'full' | 'failed';

/** Why a carrier's request, media socket or call is refused. `signature`: not proven to be the carrier's; `number`: not an own number; or the refusal that callers hear. */
export type SocketRefusal = 'signature' | 'number' | Exclude<CallRefusal, 'unknown'>;

/** The SIP status that networks send to callers (RFC 3261, 21). */
export const REFUSALS: Readonly<Record<CallRefusal, { status: number; reason: string }>> = {
  declined: { status: 603, reason: 'Decline' },
  unknown: { status: 404, reason: 'Not Found' },
  unavailable: { status: 480, reason: 'Temporarily Unavailable' },
  full: { status: 503, reason: 'Service Unavailable' },
  failed: { status: 500, reason: 'Server Internal Error' },
};

/** Whether callers hear a busy tone; otherwise that the number cannot be reached. */
export function isBusyTone(refusal: CallRefusal): boolean {
  return refusal === 'declined' || refusal === 'full';
}

/** The end of a refused call. */
export function refused(refusal: CallRefusal): CallEnd {
  const { status, reason } = REFUSALS[refusal];
  return { cause: 'rejected', by: 'agent', reason: `${String(status)} ${reason}` };
}

export type CallEndCause =
  /** A side hung up after the answer, or the caller of an inbound call before it. */
  | 'hangup'
  /** The far end was transferred. */
  | 'transferred'
  /** parley cancelled before the answer. */
  | 'canceled'
  | 'busy'
  | 'no-answer'
  /** The far end refused, or parley refused an inbound call. */
  | 'rejected'
  /** The number does not exist, or the network failed. */
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
  /** Start of each state, in milliseconds of the carrier's clock; null = not reached. */
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
   * Packets of 20 ms at both ends. `early`: packets before the answer (ringing, announcements), which were not played.
   */
  packets: { sent: number; sentLost: number; received: number; receivedLost: number; early?: number };
  /** The carrier's answering machine detection in its own terms (`human`, `machine_end_beep`), if enabled. */
  machine?: { answeredBy: string; toldMs: number } | undefined;
  /** The carrier's id of the call, if `callId` is parley's. */
  networkCallId?: string | undefined;
}
