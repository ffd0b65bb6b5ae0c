import type { CallRecord, CallState, CarrierCall } from '../carriers/carrier.js';
import { type Clock, delay } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { SessionHandle, SessionLine } from '../../engine/remote-line.js';
import { type CallOutcome, endReason, unconnected } from '../../session/record/end-reason.js';
import type { SessionReport } from '../../session/record/session-report.js';
import { type CallEndStatus, type CallStatus, silentStatus } from './call-status.js';

/** The record of a finished call. */
export interface CallReport {
  status: CallEndStatus;
  /** Why it failed, for people; null if it did not. */
  error: string | null;
  /** The carrier's own record; null if the call never reached the carrier. */
  carrier: CallRecord | null;
  /** Null if the call was not answered. */
  session: SessionReport | null;
}

/**
 * Called with each status from the second on; the last is the end of the call.
 * @param reason why the call failed, for people; null while it continues, or if it did not fail
 */
export type OnStatus = (status: CallStatus, reason: string | null) => void;

export interface AgentCallOptions {
  clock: Clock;
  /** The id of the session from `openSession`. */
  sessionId: string;
  call: CarrierCall<SessionLine>;
  /** Creates the session of the call, which starts when the call is answered. */
  openSession: (call: CarrierCall<SessionLine>) => Promise<SessionHandle>;
  onStatus: OnStatus;
}

/** Deadline for a session to be ready after the answer; the caller hears nothing meanwhile. */
const READY_MS = 10_000;
/** Deadline for a carrier to end a call whose line has closed. */
const HANG_UP_MS = 5000;
/** A record that takes longer is used incomplete. */
const RECORDED_MS = 5000;

/** An agent on a phone call, from dialling or ringing to the end. */
export class AgentCall {
  /** Resolves when the call is over and all of its work is done. Never rejects. */
  readonly finished: Promise<CallReport>;
  /** Resolves to the session once it runs, or to null if the call ends before. Never rejects. */
  readonly answered: Promise<SessionHandle | null>;
  readonly sessionId: string;
  readonly call: CarrierCall<SessionLine>;
  readonly #options: AgentCallOptions;
  readonly #session: Promise<SessionHandle>;
  readonly #connected: Promise<void>;
  readonly #ended: Promise<void>;
  #isHungUp = false;
  #onAnswered!: (session: SessionHandle | null) => void;
  #status: CallStatus = 'initiated';

  constructor(options: AgentCallOptions) {
    this.#options = options;
    this.sessionId = options.sessionId;
    this.call = options.call;
    const { call } = options;
    let onConnected!: () => void;
    let onEnded!: () => void;
    this.answered = new Promise((resolve) => (this.#onAnswered = resolve));
    this.#connected = new Promise((resolve) => (onConnected = resolve));
    this.#ended = new Promise((resolve) => (onEnded = resolve));
    const note = (state: CallState): void => {
      if (state === 'ringing') this.#enter('ringing');
      if (state === 'answered') onConnected();
      if (state === 'ended') onEnded();
    };
    call.onState(note);
    if (call.state !== 'initiated') note(call.state);
    // Virtual time waits for an agent's preparation, which is work of the machine, not of the conversation.
    this.#session = options.clock.settle(options.openSession(call), options.clock.nowMs());
    this.#session.catch(() => undefined); // `finished` has the error
    this.finished = this.#run();
  }

  get status(): CallStatus {
    return this.#status;
  }

  /** The session, once it exists. Rejects if the agent cannot have one. */
  get session(): Promise<SessionHandle> {
    return this.#session;
  }

  /** Ends the call (`api-ended`), or cancels it before the answer (`canceled`). May be called twice. */
  async hangUp(): Promise<CallReport> {
    this.#isHungUp = true;
    if (this.call.state !== 'answered') this.call.hangUp();
    else await this.#session.then((session) => session.close()).catch(() => this.call.hangUp());
    return this.finished;
  }

  async #run(): Promise<CallReport> {
    const report = await this.#talk();
    this.#onAnswered(null);
    await this.#carrierEnded();
    if (this.call.recorded !== undefined) await this.#recorded(this.call.recorded);
    const carrier = this.call.record();
    this.#enter(report.status, reasonFor(report, { ...carrier }));
    return { ...report, carrier };
  }

  async #talk(): Promise<CallReport> {
    const { call } = this;
    let session: SessionHandle | null;
    try {
      session = await this.#ready();
    } catch (error) {
      call.hangUp('failed');
      return this.#silent(reasonOf(error));
    }
    call.answer();
    const answered = session !== null && (await Promise.race([this.#connected.then(() => true), this.#ended]));
    if (session === null || answered !== true) {
      void this.#session.then(
        (unused) => unused.close(),
        () => undefined,
      );
      return this.#silent(null);
    }
    this.#enter('in-progress');
    if (this.#isHungUp) void session.close();
    const running = session.run();
    this.#onAnswered(session);
    const report = await running;
    return { status: report.status, error: faultOf(report), carrier: null, session: report };
  }

  /** The session; null if the call ended first. */
  async #ready(): Promise<SessionHandle | null> {
    const waiting = new AbortController();
    try {
      return await Promise.race([this.#session, this.#ended.then(() => null), this.#late(waiting.signal)]);
    } finally {
      waiting.abort();
    }
  }

  async #late(signal: AbortSignal): Promise<never> {
    // A called person hears nothing before the session; a caller hears ringing.
    if (this.call.direction === 'outbound') await this.#connected;
    await delay(this.#options.clock, READY_MS, signal);
    throw new ParleyError('CALL_AGENT_LATE', { seconds: READY_MS / 1000 });
  }

  /** @param error a failure of parley; null = the call has the reason */
  #silent(error: string | null): CallReport {
    const end = this.call.end ?? { cause: 'failed', by: 'agent', reason: 'it was not answered' };
    const status = error === null ? silentStatus(end, this.call.record().answeredMs !== null) : 'failed';
    return { status, error: status === 'failed' ? (error ?? end.reason) : null, carrier: null, session: null };
  }

  /** The carrier's end follows the line's; if it does not, the call is hung up. */
  async #carrierEnded(): Promise<void> {
    const { call, clock } = this.#options;
    if (call.state === 'ended') return;
    await waitAtMost(clock, HANG_UP_MS, this.#ended);
    call.hangUp();
  }

  /** The record may come from another thread. */
  async #recorded(whole: Promise<void>): Promise<void> {
    await waitAtMost(this.#options.clock, RECORDED_MS, whole);
  }

  #enter(status: CallStatus, reason: string | null = null): void {
    this.#status = status;
    this.#options.onStatus(status, reason);
  }
}

function reasonFor({ status, error, session }: CallReport, carrier: CallOutcome['carrier']): string | null {
  const outcome = { status, error, carrier };
  return session === null ? unconnected(outcome) : endReason(session, outcome);
}

function faultOf({ status, faults }: SessionReport): string | null {
  return status === 'error' ? `the session broke off: ${Object.keys(faults).join(', ') || 'no reason known'}` : null;
}
