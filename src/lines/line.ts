import type { Cancel } from '../base/clock.js';
import { ParleyError, errorOf } from '../base/errors.js';
import { waitAtMost } from '../base/deadlines.js';
import type { Engine } from '../engine/engine.js';
import type { SessionLine } from '../engine/remote-line.js';
import type { MayTransfer } from '../session/line/line-actions.js';
import type { AgentCall } from '../telephony/calls/agent-call.js';
import type { CallAgent } from '../telephony/calls/call-agent.js';
import { type OutboundCall, Switchboard } from '../telephony/calls/switchboard.js';
import type { CallRefusal, Carrier, CarrierCall } from '../telephony/carriers/carrier.js';

/** A call that has come in and waits for an answer. */
export interface IncomingCall {
  /** Who calls: a number, a `sip:` address, or what the line says of its callers. */
  readonly from: string;
  /** Who is called. */
  readonly to: string;
  /** Of the request that brought the call: HTTP or SIP headers, a carrier's parameters. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the caller gives up before the answer. */
  readonly signal: AbortSignal;
  /**
   * Gives the call to an agent, which answers once it is ready. Resolves to the call at once; its `answered` has the
   * session and its `finished` how it ended.
   * @throws ParleyError as `Engine.checkAgent`, AGENT_DISABLED; then the call is refused (`failed`). ARGUMENT_INVALID for a
   * call that has been answered or refused, SESSION_CLOSED for a closed line
   */
  answer(agent: CallAgent): Promise<AgentCall>;
  /** Refuses the call. Default `declined`. No effect on a call that has been answered or refused. */
  reject(reason?: CallRefusal): void;
}

/** Gets each call that comes in. One that neither answers nor refuses it until it returns or resolves, declines it. */
export type OnIncomingCall<Call extends IncomingCall = IncomingCall> = (call: Call) => unknown;

/** Where calls come in. */
export interface Line<Call extends IncomingCall = IncomingCall> {
  /** The calls of agents in progress. */
  readonly calls: ReadonlySet<AgentCall>;
  /** Handles the calls that come in from now on, in place of an earlier handler. Without one they are refused. */
  receive(handler: OnIncomingCall<Call>): void;
  /** Refuses further calls and ends all others. May be called twice. */
  close(): Promise<void>;
}

/** Where calls come in and go out. */
export interface PhoneLine<Call extends IncomingCall = IncomingCall> extends Line<Call> {
  /**
   * Places a call. Resolves when it is on its way; its `answered` has the session and its `finished` how it ended.
   * @throws ParleyError as `Engine.checkAgent`, AGENT_DISABLED, NUMBER_INVALID, CALL_FORBIDDEN, DO_NOT_CALL,
   * CARRIER_CLOSED, SESSION_CLOSED; the signal's reason. Then no call was placed
   */
  place(request: OutboundCall): Promise<AgentCall>;
}

/** What all lines take. */
export interface LineOptions {
  /** The line does not close it. */
  engine: Engine;
  /** Why calls must not be transferred to a number; null = they may. Default: all transfers are allowed. */
  mayTransfer?: MayTransfer | undefined;
  /** A handler has failed, or the network has. Default: it is not told. */
  onError?: ((error: Error) => void) | undefined;
}

/** Deadline for a handler to answer or refuse a call. */
const DECIDE_MS = 30_000;

export interface SwitchedLineParts<Call extends IncomingCall> extends LineOptions {
  carrier: Pick<Carrier<SessionLine>, 'placeCall' | 'receiveCalls'>;
  /** Frees what the line has opened; its calls have ended. */
  closing: () => Promise<void>;
  /** Whether its ends are phone numbers, which the agent and its tools may know. Default true. */
  hasNumbers?: boolean;
  /** As the switchboard's. */
  isAllowedExtension?: (target: string) => boolean;
  /** Runs before an agent takes a call. */
  beforeAnswer?: (agent: CallAgent) => Promise<void>;
  /** What a call has beside the common part. */
  describe?: (call: CarrierCall<SessionLine>) => Omit<Call, keyof IncomingCall>;
}

/** The common part of all lines: a switchboard between calls and agents. */
export class SwitchedLine<Call extends IncomingCall = IncomingCall> implements PhoneLine<Call> {
  readonly #parts: SwitchedLineParts<Call>;
  readonly #switchboard: Switchboard;
  readonly #onError: (error: unknown) => void;
  /** Calls that wait for an answer. */
  readonly #offered = new Set<OfferedCall>();
  #stopReceiving: Cancel = () => undefined;
  #closing: Promise<void> | null = null;

  constructor(parts: SwitchedLineParts<Call>) {
    const { engine, carrier, mayTransfer, isAllowedExtension, onError } = parts;
    assertEngine(engine);
    this.#parts = parts;
    this.#onError = (error) => onError?.(errorOf(error));
    this.#switchboard = new Switchboard({ engine, carrier, mayTransfer, isAllowedExtension, onError: this.#onError });
  }

  get calls(): ReadonlySet<AgentCall> {
    return this.#switchboard.calls;
  }

  receive(handler: OnIncomingCall<Call>): void {
    if (typeof handler !== 'function') {
      const reason = 'a function is expected, such as (call) => call.answer({ agent })';
      throw new ParleyError('ARGUMENT_INVALID', { argument: 'receive(handler)', reason });
    }
    if (this.#closing !== null) throw new ParleyError('SESSION_CLOSED');
    this.#stopReceiving();
    this.#stopReceiving = this.#parts.carrier.receiveCalls((call) => void this.#offer(call, handler));
  }

  place(request: OutboundCall): Promise<AgentCall> {
    return this.#switchboard.place(request);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopReceiving();
    for (const call of this.#offered) call.decide('unavailable');
    await this.#switchboard.close();
    await this.#parts.closing();
  }

  async #offer(call: CarrierCall<SessionLine>, handler: OnIncomingCall<Call>): Promise<void> {
    const { engine, describe } = this.#parts;
    const offered = new OfferedCall(call, this.#parts, this.#switchboard);
    this.#offered.add(offered);
    const incoming = Object.assign(offered, describe?.(call)) as unknown as Call;
    try {
      const decided = Promise.resolve(handler(incoming)).then(() => true);
      decided.catch(() => undefined); // it may reject after the deadline
      offered.decide((await waitAtMost(engine.clock, DECIDE_MS, decided)) === true ? 'declined' : 'unavailable');
    } catch (error) {
      offered.decide('failed');
      this.#onError(error);
    } finally {
      this.#offered.delete(offered);
    }
  }
}

class OfferedCall implements IncomingCall {
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly #call: CarrierCall<SessionLine>;
  readonly #parts: Pick<SwitchedLineParts<IncomingCall>, 'hasNumbers' | 'beforeAnswer'>;
  readonly #switchboard: Switchboard;
  #isDecided = false;

  constructor(
    call: CarrierCall<SessionLine>,
    parts: Pick<SwitchedLineParts<IncomingCall>, 'hasNumbers' | 'beforeAnswer'>,
    switchboard: Switchboard,
  ) {
    this.#call = call;
    this.#parts = parts;
    this.#switchboard = switchboard;
    ({ from: this.from, to: this.to, headers: this.headers } = call);
    const gone = new AbortController();
    this.signal = gone.signal;
    call.onState((state) => {
      if (state === 'ended' && !this.#isDecided)
        gone.abort(new ParleyError('LINE_LOST', { reason: 'the caller has gone' }));
    });
  }

  async answer(agent: CallAgent): Promise<AgentCall> {
    if (this.#isDecided) {
      const reason = 'this call has been answered or refused already';
      throw new ParleyError('ARGUMENT_INVALID', { argument: 'IncomingCall.answer', reason });
    }
    this.#isDecided = true;
    try {
      agent.signal?.throwIfAborted();
      const { hasNumbers = true, beforeAnswer } = this.#parts;
      const phones = hasNumbers ? { from: this.from, to: this.to } : null;
      const knowing = agent.phones === undefined ? { ...agent, phones } : agent;
      await beforeAnswer?.(agent);
      await this.#switchboard.check(knowing);
      return this.#switchboard.take(this.#call, knowing);
    } catch (error) {
      this.#call.hangUp('failed');
      throw error;
    }
  }

  reject(reason?: CallRefusal): void {
    this.decide(reason ?? 'declined');
  }

  /** Refuses a call that has not been answered or refused. */
  decide(refusal: CallRefusal): void {
    if (this.#isDecided) return;
    this.#isDecided = true;
    this.#call.hangUp(refusal);
  }
}

/** @throws ParleyError ARGUMENT_INVALID */
export function assertEngine(engine: unknown): void {
  if (typeof (engine as Engine | undefined)?.createSession === 'function') return;
  throw new ParleyError('ARGUMENT_INVALID', { argument: 'LineOptions.engine', reason: 'new Engine() is expected' });
}

/** Settings without those that are undefined, which stand for the default. */
export function withoutUnset(settings: object): object {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
