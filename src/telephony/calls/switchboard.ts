import type { CallAgent } from './call-agent.js';
import { randomUUID } from 'node:crypto';
import type { CallRefusal, Carrier, CarrierCall } from '../carriers/carrier.js';
import type { Cancel } from '../../base/clock.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import { ParleyError } from '../../base/errors.js';
import type { CallOutcome } from '../../session/record/end-reason.js';
import { type SessionHandle, type SessionLine, lineTransferringBy } from '../../engine/remote-line.js';
import type { Consult, Consultation, MayTransfer } from '../../session/line/line-actions.js';
import type { TransferOutcome, TransferFailure } from '../../transports/transport.js';
import { AgentCall, type CallReport } from './agent-call.js';
import { CALLER, briefed } from './consulting-agent.js';
import { assertCallable, whyNeverCalled } from '../carriers/destinations.js';
import { setOr } from '../../schema/field.js';
import { DEFAULT_LANGUAGE } from '../../agent/language.js';
import { phrasesFor } from '../../conversation/language/phrases.js';

export interface OutboundCall extends CallAgent {
  /** One of the carrier's own numbers. */
  from: string;
  to: string;
  /** The call is cancelled if it is not answered in this time. Default 45 000. */
  ringTimeoutMs?: number;
  headers?: Readonly<Record<string, string>>;
}

export interface SwitchboardOptions {
  engine: Engine;
  carrier: Pick<Carrier<SessionLine>, 'placeCall' | 'receiveCalls'>;
  /** Why calls must not be transferred to a number now; null = they may. Default: always allowed. */
  mayTransfer?: MayTransfer | undefined;
  /** Whether calls may be transferred to an address although it looks like a forbidden number. Default: none. */
  isAllowedExtension?: ((target: string) => boolean) | undefined;
  /** Observes the calls to targets of attended transfers. */
  ownCalls?: OwnCalls;
  /** The route of an inbound call failed, or an agent has a forbidden transfer target. */
  onError?: (error: unknown) => void;
}

/** Observes the calls that agents place themselves. */
export interface OwnCalls {
  /** A call for another session's user begins. Returns its observers. */
  begin(call: OwnCall): Pick<CallAgent, 'observe' | 'onStatus'>;
  placed(call: AgentCall): void;
}

export interface OwnCall {
  sessionId: string;
  /** The carrier's id. */
  callId: string;
  agent: CallAgent;
  /** The id of the agent whose user it is for; null if it has none. */
  agentId: string | null;
  phones: { readonly from: string; readonly to: string };
  /** The session of the waiting user. */
  askedFor: string;
}

/** The agent of an inbound call, or why it is refused; null = declined. */
export type Route = (
  call: CarrierCall<SessionLine>,
) => Promise<CallAgent | CallRefusal | null> | CallAgent | CallRefusal | null;

/** Connects agents and calls: places outbound calls, and routes inbound ones. */
export class Switchboard {
  readonly #options: SwitchboardOptions;
  readonly #calls = new Set<AgentCall>();
  #stopReceiving: Cancel = () => undefined;
  #closing: Promise<void> | null = null;

  constructor(options: SwitchboardOptions) {
    this.#options = options;
  }

  /** The calls in progress. */
  get calls(): ReadonlySet<AgentCall> {
    return this.#calls;
  }

  /**
   * Checks whether an agent could take a call.
   * @throws ParleyError as `Engine.checkAgent` and `Engine.checkContinuation`, AGENT_DISABLED
   */
  async check({ continuation, ...agent }: AgentRequest & Pick<CallAgent, 'continuation'>): Promise<void> {
    const { engine } = this.#options;
    if (agent.agent.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    await engine.checkAgent(agent);
    if (continuation != null) await engine.checkContinuation(continuation, agent.agentId ?? null);
  }

  /**
   * Places a call for an agent. Its statuses and report have the outcome.
   * @throws ParleyError as `check`, NUMBER_INVALID, CALL_FORBIDDEN, DO_NOT_CALL, CARRIER_CLOSED, SESSION_CLOSED; then
   * no call was placed; the signal's reason when it is aborted
   */
  async place(request: OutboundCall): Promise<AgentCall> {
    const { carrier } = this.#options;
    const { from, to, ringTimeoutMs = 45_000, headers, onStatus, signal, ...agent } = request;
    signal?.throwIfAborted();
    onStatus?.('dispatching', null);
    await this.check({ ...agent, phones: { from, to } });
    assertCallable(to);
    if (await this.#options.engine.doNotCall.has(to)) throw new ParleyError('DO_NOT_CALL', { number: to });
    signal?.throwIfAborted();
    if (this.#closing !== null) throw new ParleyError('SESSION_CLOSED');
    const call = carrier.placeCall({ from, to, ringTimeoutMs, headers });
    onStatus?.('initiated', null);
    return this.#add(call, request);
  }

  /**
   * Routes inbound calls to agents. A new route replaces the previous one.
   * @param onCall called for each call that an agent takes
   */
  receive(route: Route, onCall: (call: AgentCall) => void = () => undefined): Cancel {
    this.#stopReceiving();
    const stop = this.#options.carrier.receiveCalls((call) => void this.#receive(call, route, onCall));
    this.#stopReceiving = stop;
    return stop;
  }

  /**
   * Gives an inbound call to an agent, which answers it once it is ready.
   * @throws ParleyError SESSION_CLOSED
   */
  take(call: CarrierCall<SessionLine>, agent: CallAgent): AgentCall {
    if (this.#closing !== null) throw new ParleyError('SESSION_CLOSED');
    return this.#add(call, agent);
  }

  /** Ends all calls. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #receive(call: CarrierCall<SessionLine>, route: Route, onCall: (call: AgentCall) => void): Promise<void> {
    let agent: CallAgent | CallRefusal;
    try {
      agent = (await route(call)) ?? 'declined';
    } catch (error) {
      this.#options.onError?.(error);
      agent = 'failed';
    }
    if (this.#closing !== null) call.hangUp('full');
    else if (typeof agent === 'string') call.hangUp(agent);
    else if (agent.agent.status === 'disabled') call.hangUp('unavailable');
    else onCall(this.take(call, agent));
  }

  /** @param line replaces the call's own */
  #add(call: CarrierCall<SessionLine>, agent: CallAgent, line = agent.line ?? call.line): AgentCall {
    const { engine } = this.#options;
    const id = agent.id ?? randomUUID();
    const added = new AgentCall({
      clock: engine.clock,
      sessionId: id,
      call,
      openSession: () => this.#open(call, line, { ...agent, id }, () => added.finished),
      onStatus: (status, reason) => agent.onStatus?.(status, reason),
    });
    this.#calls.add(added);
    const { signal } = agent;
    const end = (): void => void added.hangUp();
    signal?.addEventListener('abort', end, { once: true });
    void added.finished.then(() => {
      signal?.removeEventListener('abort', end);
      this.#calls.delete(added);
    });
    return added;
  }

  #open(
    call: CarrierCall<SessionLine>,
    line: SessionLine,
    agent: CallAgent & { id: string },
    finished: () => Promise<CallReport>,
  ): Promise<SessionHandle> {
    const { id: carrierId, direction, from, to } = call;
    const { onStatus: _onStatus, signal: _signal, line: _line, ...request } = agent;
    const outcome = async (): Promise<CallOutcome> => {
      const { status, error, carrier } = await finished();
      return { status, error, carrier: carrier === null ? null : { ...carrier } };
    };
    const { phones = { from, to } } = agent;
    const callId = agent.callId ?? carrierId;
    const mayTransfer: MayTransfer = (target) => this.#whyNoTransfer(target);
    const ask: Consult = (consultation, signal) => this.#consult(call, agent, consultation, signal);
    const facts = { direction, phones, callId, outcome, mayTransfer, consult: ask };
    return this.#options.engine.createSession({ ...request, ...facts, transport: line });
  }

  #whyNoTransfer(target: string): ReturnType<MayTransfer> {
    if (target === CALLER) return null;
    const { isAllowedExtension, mayTransfer, onError } = this.#options;
    const reason = isAllowedExtension?.(target) === true ? null : whyNeverCalled(target);
    // Models choose among the agent's own targets: only its author can fix them.
    if (reason !== null) onError?.(new ParleyError('CALL_FORBIDDEN', { number: target, reason }));
    return reason ?? mayTransfer?.(target) ?? null;
  }

  #consult(
    call: CarrierCall<SessionLine>,
    agent: CallAgent & { id: string },
    consultation: Consultation,
    signal: AbortSignal,
  ): Promise<TransferOutcome> {
    return consult({
      call,
      agent,
      consultation,
      signal,
      add: (other, asking, line) => {
        const sessionId = randomUUID();
        const phones = { from: other.from, to: other.to };
        const { ownCalls } = this.#options;
        const facts = { sessionId, callId: other.id, agent: asking, agentId: agent.agentId ?? null, phones };
        const watch = ownCalls?.begin({ ...facts, askedFor: agent.id });
        const metadata = { asked_for: agent.id };
        const added = this.#add(other, { ...bothWatching(asking, watch), id: sessionId, metadata, phones }, line);
        ownCalls?.placed(added);
        return added;
      },
    });
  }

  async #close(): Promise<void> {
    this.#stopReceiving();
    await Promise.all([...this.#calls].map((call) => call.hangUp()));
  }
}

function bothWatching(agent: CallAgent, also: Pick<CallAgent, 'observe' | 'onStatus'> = {}): CallAgent {
  return {
    ...agent,
    ...also,
    observe: (event) => {
      agent.observe?.(event);
      also.observe?.(event);
    },
  };
}

export interface ConsultOptions {
  /** The call of the waiting user. */
  call: CarrierCall<SessionLine>;
  agent: CallAgent;
  consultation: Consultation;
  signal: AbortSignal;
  /** Adds the agent of the call to the target. Throws if there cannot be one. */
  add: (other: CarrierCall<SessionLine>, agent: CallAgent, line: SessionLine) => AgentCall;
}

/**
 * Asks a target whether they take a call, and connects the two if they do. A separate agent with the voice of the first
 * calls the target, tells them what the call is about and hears the answer. Its transfer connects the user; its end
 * without one is a refusal.
 */
export async function consult(options: ConsultOptions): Promise<TransferOutcome> {
  const { call, agent, consultation, signal, add } = options;
  const { target, ringMs } = consultation;
  if (call.placeBeside === undefined || call.connectTo === undefined) return { ok: false, reason: 'unsupported' };
  if (signal.aborted) return { ok: false, reason: 'no-answer' };
  let other: CarrierCall<SessionLine>;
  try {
    other = call.placeBeside(target, ringMs);
  } catch {
    return { ok: false, reason: 'failed' };
  }
  let isJoined = false;
  let words = '';
  const line = lineTransferringBy(other.line, async () => {
    const outcome = (await call.connectTo?.(other, signal)) ?? UNSUPPORTED;
    isJoined = outcome.ok;
    return outcome;
  });
  const asking = add(other, { ...briefed(agent, consultation), observe: noted }, line);
  function noted(event: Parameters<NonNullable<CallAgent['observe']>>[0]): void {
    if (event.type === 'user') words = event.text;
  }
  const leave = (): void => void takeLeave(asking, setOr(agent.agent.language, DEFAULT_LANGUAGE));
  signal.addEventListener('abort', leave, { once: true });
  const report = await asking.finished;
  signal.removeEventListener('abort', leave);
  if (isJoined) return { ok: true };
  const reason = failureOf(report);
  // Without letters the reason is a row of keys, which explains nothing.
  return reason === 'declined' && /\p{L}/u.test(words) ? { ok: false, reason, words } : { ok: false, reason };
}

const UNSUPPORTED: TransferOutcome = { ok: false, reason: 'unsupported' };

/** Says goodbye to the target if a conversation is in progress. */
async function takeLeave(asking: AgentCall, language: string): Promise<void> {
  if (asking.status !== 'in-progress') {
    await asking.hangUp();
    return;
  }
  const session = await asking.session;
  void session.say(phrasesFor(language).callerGone);
  session.finish();
}

function failureOf({ status, carrier }: CallReport): TransferFailure {
  switch (status) {
    case 'busy':
    case 'no-answer':
      return status;
    case 'canceled':
      return 'no-answer';
    case 'failed':
      return carrier?.end?.cause === 'rejected' ? 'rejected' : 'failed';
    case 'error':
      return 'failed';
    case 'voicemail-hangup':
    case 'voicemail-message':
      return 'voicemail';
    default:
      return 'declined';
  }
}
