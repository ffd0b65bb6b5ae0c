import { randomUUID } from 'node:crypto';
import { assertCallable, whyNeverCalled, isE164 } from '../../telephony/carriers/destinations.js';
import type { CallGuards } from '../../settings/setting-groups.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { CallStore } from '../../store/calls.js';
import type { DialStore, Stop } from '../../store/dials.js';
import { UnconfirmedCommit } from '../../store/sql/statement.js';
import type { Writes } from '../../store/writes.js';
import type { PhoneStore, StoredPhone } from '../../store/phones.js';
import type { AdmissionControl } from '../admission-control.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallEventBus } from '../call-event-bus.js';
import type { CallLog } from '../call-log/call-log.js';
import { PersonCall, type PersonRequest } from './person-call.js';
import type { CallPlacing } from './placing.js';
import type { Telephone } from './telephone.js';
import type { DialEnd, DialledCall, DialRequest, CallIds } from './dial.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { AgentCall } from '../../telephony/calls/agent-call.js';
import type { AgentConfig } from '../../agent/agent.js';
import { callerOf, checkRequestedAgent, requestedAgent, type RequestedAgent } from '../agents/requested-agent.js';

/**
 * Area codes of the North American plan outside the United States, their territories and Canada (NANPA, area code map):
 * calls there are international, and a common kind of toll fraud. The prefix `+1` does not allow them.
 */
const OTHER_COUNTRIES_OF_1: ReadonlySet<string> = new Set(
  '242 246 264 268 284 345 441 473 649 658 664 721 758 767 784 809 829 849 868 869 876' // Caribbean and Bermuda
    .split(' '),
);

/**
 * Checks that the operator allows calls to a number.
 * @throws InvalidConfigError if it is not a number; ParleyError CALL_FORBIDDEN, CALL_NOT_ALLOWED
 */
export function checkDestination(to: string, allowedPrefixes: readonly string[]): void {
  assertCallable(to);
  if (!isE164(to)) throw notANumber(to, 'to_phone');
  if (allowedPrefixes.some((prefix) => allows(prefix, to))) return;
  const allowed = allowedPrefixes.length === 0 ? 'none' : allowedPrefixes.join(', ');
  throw new ParleyError('CALL_NOT_ALLOWED', { number: to, allowed });
}

/** Whether the operator allows calls to a number. */
export function isAllowed(number: string, allowedPrefixes: readonly string[]): boolean {
  return whyNeverCalled(number) === null && allowedPrefixes.some((prefix) => allows(prefix, number));
}

export function notANumber(number: string, field: string): InvalidConfigError {
  const { message } = new ParleyError('NUMBER_INVALID', { number: number.slice(0, 40) });
  return new InvalidConfigError([{ loc: ['body', field], msg: message, type: 'phone_number' }]);
}

function allows(prefix: string, to: string): boolean {
  if (prefix === '*') return true;
  if (!to.startsWith(prefix)) return false;
  return prefix !== '+1' || !OTHER_COUNTRIES_OF_1.has(to.slice(2, 5));
}

export interface DialerOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get' | 'forConversation'>;
  phones: Pick<PhoneStore, 'get'>;
  calls: Pick<CallStore, 'get'>;
  dials: DialStore;
  placing: CallPlacing;
  writes: Writes;
  log: CallLog;
  guards: CallGuards;
  /** Maximum duration for agents that set none. */
  maxDurationS: number;
  admission: AdmissionControl;
  events: CallEventBus;
  openTelephone: () => Promise<Telephone>;
}

/** A guess: the end of other sessions is unknown. */
const SESSIONS_RETRY_S = 5;

/**
 * Places all outbound calls of agents, within the operator's limits. When `dial` resolves, the call is in the log and
 * counts for the limits. It then continues on its own.
 */
export class Dialer {
  readonly #options: DialerOptions;
  /** Calls that have not ended, by session. */
  readonly #runs = new Map<string, DialRun | PersonCall>();
  /** Calls that the database is about to accept or refuse. */
  #placing = 0;
  readonly #ended: (sessionId: string) => Promise<unknown>;

  constructor(options: DialerOptions) {
    this.#options = options;
    this.#ended = options.writes.operation('dial.ended', (sessionId: string, agoUs) =>
      options.dials.ended(sessionId, agoUs),
    );
    options.admission.count({
      pending: () => this.#placing + [...this.#runs.values()].filter(({ hasSession }) => !hasSession).length,
      calls: () => this.#runs.size,
    });
  }

  /**
   * Accepts a call, or throws and stores nothing.
   * @throws InvalidConfigError for an invalid number or an agent that cannot be served, with places in the body of
   * `/start_outbound_call`; ParleyError NUMBER_NOT_OWNED, NUMBER_INACTIVE, NOT_FOUND, AGENT_DISABLED, DO_NOT_CALL,
   * CALL_FORBIDDEN, CALL_NOT_ALLOWED, CALLS_STOPPED, IDEMPOTENCY_KEY_REUSED, DAEMON_DRAINING; and those of
   * `PACE_LIMITS`, whose detail `retryAfterS` says when to retry
   */
  async dial(request: DialRequest): Promise<DialledCall> {
    const { engine, admission, dials, guards, maxDurationS } = this.#options;
    admission.enter();
    const { idempotency = null } = request;
    const before = idempotency === null ? null : await dials.repeated(idempotency);
    if (before !== null) return this.#again(before);
    if (!guards.enabled) throw new ParleyError('CALLS_STOPPED', { reason: 'the setting calls.enabled is false' });
    if (!isE164(request.from)) throw notANumber(request.from, 'from_phone');
    checkDestination(request.to, guards.allowedPrefixes);
    const agent = await agentFor(request, { ...this.#options, longestS: longestCallS(guards), maxDurationS });
    if (await engine.doNotCall.has(request.to)) throw new ParleyError('DO_NOT_CALL', { number: request.to });
    admission.enter();
    return this.#take(request, agent);
  }

  /**
   * Accepts a call to somebody who joins a session, or throws and stores nothing. It is placed by its `start`.
   * @throws as `dial`, but for what concerns an agent
   */
  async person(request: PersonRequest): Promise<PersonCall> {
    const { admission, guards, engine, phones, placing, log, dials, openTelephone } = this.#options;
    const { from, to, sessionId: joins } = request;
    admission.enter();
    if (!guards.enabled) throw new ParleyError('CALLS_STOPPED', { reason: 'the setting calls.enabled is false' });
    checkDestination(to, guards.allowedPrefixes);
    phoneOf(from, phones);
    if (await engine.doNotCall.has(to)) throw new ParleyError('DO_NOT_CALL', { number: to });
    const mine = { sessionId: randomUUID(), callId: randomUUID() };
    const call = { ...mine, channel: 'phone', direction: 'outbound', agentId: null, agentConfig: {} } as const;
    await placing.place({
      limits: guards,
      record: null,
      reservation: { ...mine, to, idempotency: null, maxDurationS: longestCallS(guards) },
      call: { ...call, phones: { from, to }, metadata: { joins }, status: 'registered' },
    });
    const ringTimeoutMs = Math.min(request.ringTimeoutMs ?? Infinity, guards.ringS * 1000);
    const run = new PersonCall({
      ...mine,
      log,
      place: async () => (await openTelephone()).callPerson({ from, to, ringTimeoutMs }),
      whyNot: async () => {
        if (!admission.isOpen) return SHUT_DOWN.error;
        return (await dials.stopped()) === null ? null : STOPPED.error;
      },
      onEnded: async () => {
        this.#runs.delete(mine.sessionId);
        await log.inOrder(mine.sessionId, () => this.#ended(mine.sessionId));
      },
    });
    this.#runs.set(mine.sessionId, run);
    return run;
  }

  /** Ends a call, or cancels it before the answer. Returns false if no call with this id is open. */
  end(sessionId: string): boolean {
    const run = this.#runs.get(sessionId);
    run?.end();
    return run !== undefined;
  }

  /** Refuses calls until `resume`, even after a restart. @returns the number of calls that it ends */
  async stop(by: string | null, { endRunning }: { endRunning: boolean }): Promise<number> {
    const others = await this.#options.dials.stop(by, { endRunning });
    return endRunning ? others + this.endAll() : 0;
  }

  /** Ends the calls of this node. Returns their number. */
  endAll(): number {
    for (const run of this.#runs.values()) run.end();
    return this.#runs.size;
  }

  resume(): Promise<void> {
    return this.#options.dials.resume();
  }

  stopped(): Promise<Stop | null> {
    return this.#options.dials.stopped();
  }

  /** Ends every call and waits for their ends. */
  async close(): Promise<void> {
    for (const run of this.#runs.values()) run.end();
    await Promise.all([...this.#runs.values()].map(({ finished }) => finished));
  }

  /** Checks the limits and writes the call in one transaction. */
  async #take(request: DialRequest, agent: DialAgent): Promise<DialledCall> {
    const { dials, placing, guards, log, events, openTelephone, admission } = this.#options;
    const { from, to, campaignId, metadata = {}, idempotency = null, record = null } = request;
    if (admission.isFullFor(to)) {
      throw new ParleyError('SESSIONS_FULL', { limit: admission.maxSessions, retryAfterS: SESSIONS_RETRY_S });
    }
    const mine = { sessionId: randomUUID(), callId: randomUUID() };
    this.#placing++;
    const placed = placing.place({
      limits: guards,
      record,
      reservation: { ...mine, to, idempotency, maxDurationS: agent.maxDurationS },
      call: {
        ...mine,
        channel: 'phone',
        direction: 'outbound',
        phones: { from, to },
        metadata,
        status: 'registered',
        agentId: agent.agentId,
        agentVersion: agent.agentVersion,
        agentConfig: agent.agent,
        campaignId,
      },
    });
    const taken = await placed
      .catch(async (error: unknown) => {
        if (error instanceof UnconfirmedCommit) await this.#ended(mine.sessionId);
        throw error;
      })
      .finally(() => this.#placing--);
    if (taken.sessionId !== mine.sessionId) return this.#again(taken);
    const run = new DialRun({
      ids: mine,
      request,
      agent,
      log,
      openTelephone,
      events,
      onEnded: async () => {
        this.#runs.delete(mine.sessionId);
        await log.inOrder(mine.sessionId, () => this.#ended(mine.sessionId));
      },
      ringTimeoutMs: Math.min(request.ringTimeoutMs ?? Infinity, guards.ringS * 1000),
      whyNot: async () => {
        if (!admission.isOpen) return SHUT_DOWN;
        return (await dials.stopped()) === null ? null : STOPPED;
      },
    });
    this.#runs.set(mine.sessionId, run);
    return { ...mine, finished: run.start() };
  }

  /** The call of an earlier request, with its end if it has ended. */
  #again(ids: { sessionId: string; callId: string }): DialledCall {
    const { sessionId, callId } = ids;
    const run = this.#runs.get(sessionId);
    return { sessionId, callId, finished: run instanceof DialRun ? run.finished : this.#endOf(sessionId) };
  }

  async #endOf(sessionId: string): Promise<DialEnd> {
    const item = (await this.#options.calls.get(sessionId).catch(() => null))?.item;
    return { status: (item?.call_status ?? 'error') as DialEnd['status'], error: item?.error_message ?? null };
  }
}

/** The maximum duration of one call in seconds. */
function longestCallS({ maxDurationS, minutesPerDay }: CallGuards): number {
  return Math.min(maxDurationS, minutesPerDay * 60);
}

interface DialRunOptions {
  ids: CallIds;
  request: DialRequest;
  agent: DialAgent;
  log: CallLog;
  ringTimeoutMs: number;
  openTelephone: () => Promise<Telephone>;
  /** How the call ends without being placed; null = it may be placed. Called immediately before that. */
  whyNot: () => Promise<DialEnd | null>;
  events: CallEventBus;
  /** Called last. */
  onEnded: () => Promise<void>;
}

const GIVEN_UP: DialEnd = { status: 'canceled', error: 'It was ended before it was placed.' };
const STOPPED: DialEnd = { status: 'canceled', error: 'Outbound calls were stopped before it was placed.' };
/** Not `canceled`: campaigns call again. */
const SHUT_DOWN: DialEnd = { status: 'error', error: 'The daemon shut down before it was placed.' };

/** One outbound call, from its row in the log to its end. */
class DialRun {
  /** Never rejects. */
  readonly finished: Promise<DialEnd>;
  readonly #options: DialRunOptions;
  #resolveFinished!: (end: DialEnd) => void;
  #call: AgentCall | null = null;
  #isGivenUp = false;
  #hasSession = false;

  constructor(options: DialRunOptions) {
    this.#options = options;
    this.finished = new Promise((resolve) => (this.#resolveFinished = resolve));
  }

  /** Call it once. Returns `finished`. */
  start(): Promise<DialEnd> {
    void this.#run();
    return this.finished;
  }

  /** Whether it counts as a session of the engine. */
  get hasSession(): boolean {
    return this.#hasSession;
  }

  end(): void {
    this.#isGivenUp = true;
    void this.#call?.hangUp();
  }

  async #run(): Promise<void> {
    const { ids, log, onEnded } = this.#options;
    let end: DialEnd;
    try {
      await log.status(ids.sessionId, 'queued');
      end = await this.#placed();
    } catch (error) {
      end = { status: 'failed', error: reasonOf(error) };
    }
    // A session closes the row itself, with more data.
    const ended = end;
    if (this.#call === null) await this.#attempt(() => log.fail(ids.sessionId, ended.status, ended.error));
    await this.#attempt(onEnded);
    this.#resolveFinished(end);
  }

  async #placed(): Promise<DialEnd> {
    const { ids, request, agent, log, openTelephone, whyNot, events, ringTimeoutMs } = this.#options;
    const { from, to, metadata = {}, includeMetadataInPrompt = false, continuation, campaignId } = request;
    const { sessionId, callId } = ids;
    const phone = await openTelephone();
    const refusal = await whyNot();
    if (refusal !== null || this.#isGivenUp) return refusal ?? GIVEN_UP;
    const call = await phone.place({
      id: sessionId,
      callId,
      from,
      to,
      ringTimeoutMs,
      metadata,
      includeMetadataInPrompt,
      agent: timedConfig(agent),
      script: agent.script,
      extensions: agent.extensions,
      agentId: agent.agentId,
      campaignId,
      continuation,
      observe: events.observer(sessionId, agent.agentId),
      onStatus: (status, reason) => log.noteStatus(sessionId, status, reason),
    });
    this.#call = call;
    // Until its session exists, the call counts as pending and not as a session of the engine.
    call.session.then(
      () => (this.#hasSession = true),
      () => undefined,
    );
    if (this.#isGivenUp) void call.hangUp();
    const { status, error } = await call.finished;
    return { status, error };
  }

  /** Ignores a database that cannot be written: the call ends anyway, and the next start closes its row. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch {
      // Other writers fail, too, and report the error.
    }
  }
}

/** The agent of an outbound call. */
interface DialAgent extends RequestedAgent {
  /** The maximum duration of its call. */
  maxDurationS: number;
}

interface DialAgentOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get' | 'forConversation'>;
  phones: Pick<PhoneStore, 'get'>;
  /** The operator's maximum for all calls. */
  longestS: number;
  /** The maximum for an agent that sets none. */
  maxDurationS: number;
}

/**
 * The checked agent of an outbound call: the requested one, or that of the number.
 * @throws InvalidConfigError; ParleyError NUMBER_NOT_OWNED, NUMBER_INACTIVE, AGENT_DISABLED, NOT_FOUND for an unknown
 * agent or session to continue
 */
async function agentFor(request: DialRequest, options: DialAgentOptions): Promise<DialAgent> {
  const {
    from,
    to,
    metadata = {},
    includeMetadataInPrompt = false,
    agentConfig = null,
    agentExtensions = null,
  } = request;
  const { engine, agents, longestS, maxDurationS } = options;
  const phone = phoneOf(from, options.phones);
  const agentId = request.agentId ?? phone.agentId;
  if (agentId === null && agentConfig === null) {
    const msg = `Field required: ${from} has no agent`;
    throw new InvalidConfigError([{ loc: ['body', 'agent_id'], msg, type: 'missing' }]);
  }
  const ownVersion = agentId === phone.agentId ? phone.agentVersion : null;
  const requested = await requestedAgent(
    agents,
    agentId,
    { agentConfig, agentExtensions, agentVersion: request.agentVersion ?? ownVersion },
    agentId === null ? null : callerOf(agents.get(agentId).config, metadata, to),
    phone.agentConfigOverride,
  );
  const { session_timeout: timeout } = requested.agent;
  const lastsS = Math.min(timeout?.max_duration ?? maxDurationS, longestS);
  await checkRequestedAgent(engine, requested, { metadata, includeMetadataInPrompt, phones: { from, to } });
  if (request.continuation != null) await engine.checkContinuation(request.continuation, agentId);
  const isLimited = timeout?.max_duration != null;
  const limited = { ...requested.agent, session_timeout: { ...timeout, max_duration: lastsS } };
  return { ...requested, agent: isLimited ? limited : requested.agent, maxDurationS: lastsS };
}

/** The configuration of the call, always with a time limit. The log keeps the configuration without an added limit. */
function timedConfig({ agent, maxDurationS }: DialAgent): AgentConfig {
  return { ...agent, session_timeout: { ...agent.session_timeout, max_duration: maxDurationS } };
}

/** @throws ParleyError NUMBER_NOT_OWNED, NUMBER_INACTIVE */
function phoneOf(number: string, phones: Pick<PhoneStore, 'get'>): StoredPhone {
  const phone = phones.get(number);
  if (phone === null) throw new ParleyError('NUMBER_NOT_OWNED', { number });
  if (phone.status !== 'active') throw new ParleyError('NUMBER_INACTIVE', { number });
  return phone;
}
