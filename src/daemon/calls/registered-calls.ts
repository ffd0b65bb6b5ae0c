import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../../base/clock.js';
import type { SessionContinuation } from '../../agent/continuation.js';
import type { Engine } from '../../engine/engine.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { CallStore } from '../../store/calls.js';
import type { RegisteredCallStore, RegisteredWay } from '../../store/registered-calls.js';
import type { SqlDatabase, Transaction } from '../../store/sql/statement.js';
import type { CallIds } from './dial.js';
import {
  type AgentWish,
  callerOf,
  checkRequestedAgent,
  requestedAgent,
  type RequestedAgent,
} from '../agents/requested-agent.js';

/** The data of a registration. */
export interface CallRegistration extends AgentWish {
  agentId: string | null;
  metadata: Readonly<Record<string, unknown>>;
  includeMetadataInPrompt: boolean;
  continuation: SessionContinuation | null;
  /** The numbers of the call from the client's server. Null = known when the client connects. */
  phones: { readonly from: string; readonly to: string } | null;
}

/** A registered call whose client has not connected yet. */
export interface RegisteredCall
  extends
    CallIds,
    RequestedAgent,
    Pick<CallRegistration, 'metadata' | 'includeMetadataInPrompt' | 'continuation' | 'phones'> {}

export interface RegisteredCallsOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get' | 'forConversation'>;
  log: Pick<CallLog, 'inOrder' | 'beginning' | 'began' | 'claimed' | 'fail'>;
  clock: Clock;
  database: SqlDatabase;
  store: RegisteredCallStore<RegisteredCall>;
  calls: Pick<CallStore, 'release' | 'claim'>;
  onError: (error: Error) => void;
}

/** How long a client may take to connect. */
export const REGISTERED_MS = 300_000;
/** Maximum of waiting calls, on all nodes. */
const MOST_WAITING = 1_000;
const RETRY_S = 30;
/** Between looks for registrations whose node has gone. */
const SWEEP_MS = 30_000;
const NOBODY_CAME = 'no client connected within five minutes';

/** Whether a text has the form of a registered call's id. */
export function isCallId(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(text);
}

/**
 * Calls that a client's server has registered. The client connects to `/talk` of any node with the call's id, or a PBX
 * calls a SIP address, once and within the time limit. On SQLite, they end with the daemon.
 */
export class RegisteredCalls {
  readonly #options: RegisteredCallsOptions;
  /** Ends the time limits of this node's registrations, by session. */
  readonly #limits = new Map<string, Cancel>();
  #cancelSweep: Cancel = () => undefined;
  #isClosed = false;

  constructor(options: RegisteredCallsOptions) {
    this.#options = options;
  }

  /** Ends what an earlier process has left. */
  async recover(): Promise<void> {
    const { database, store } = this.#options;
    // The call log closes the calls of an earlier process.
    if (database.dialect === 'sqlite') await database.transaction(() => store.removeAll());
    else await this.#sweep();
  }

  /**
   * @param addressOf the address that a PBX calls. Default: the client connects to `/talk`
   * @throws InvalidConfigError; ParleyError NOT_FOUND, AGENT_DISABLED, REGISTRATIONS_FULL, and what `addressOf` throws
   */
  async register(
    registration: CallRegistration,
    addressOf?: (callId: string) => string,
  ): Promise<CallIds & { address: string }> {
    const { engine, agents, clock } = this.#options;
    const { agentId, metadata, includeMetadataInPrompt, continuation, phones } = registration;
    const caller =
      agentId === null ? null : (callerOf(agents.get(agentId).config, metadata, phones?.from) ?? randomUUID());
    const requested = await requestedAgent(agents, agentId, registration, caller);
    await checkRequestedAgent(engine, requested, {
      metadata,
      includeMetadataInPrompt,
      phones,
    });
    if (continuation !== null) await engine.checkContinuation(continuation, agentId);
    const ids = { callId: randomUUID(), sessionId: randomUUID() };
    const address = addressOf?.(ids.callId) ?? '';
    const way: RegisteredWay = addressOf === undefined ? 'talk' : 'phone';
    const { sessionId } = ids;
    await this.#add({ ...ids, ...requested, metadata, includeMetadataInPrompt, continuation, phones }, way);
    const cancel = clock.schedule(clock.nowMs() + REGISTERED_MS, () => this.#endInTime(sessionId));
    this.#limits.set(sessionId, cancel);
    return { ...ids, address };
  }

  /**
   * Takes a call out of the registrations.
   * @param way how its client connects; it must match the registration
   * @throws ParleyError NOT_FOUND, DATABASE_UNREACHABLE
   */
  async take(callId: string, way: RegisteredWay): Promise<RegisteredCall> {
    const { store, calls, log } = this.#options;
    const taken = await this.#changed(function* () {
      const registration = yield* store.take(callId, way);
      const stored = registration === null ? null : yield* calls.claim(registration.sessionId);
      return registration === null || stored === null ? null : { stored, call: registration.call };
    });
    if (taken === null) throw new ParleyError('NOT_FOUND', { what: 'registered call', id: callId });
    this.#forget(taken.call.sessionId);
    log.claimed(taken.stored);
    return taken.call;
  }

  /** Cancels a registration. Returns whether a call of this session was waiting. */
  end(sessionId: string): Promise<boolean> {
    return this.#end(sessionId, null);
  }

  /** May be called twice. */
  async close(): Promise<void> {
    const { database } = this.#options;
    this.#isClosed = true;
    this.#cancelSweep();
    const own = Array.from(this.#limits.keys());
    for (const sessionId of own) this.#forget(sessionId);
    // Other nodes go on with them.
    if (database.dialect === 'postgres') return;
    for (const sessionId of own) await this.#end(sessionId, 'the daemon has stopped');
  }

  /** Stores a registration and the call's row, which no node has until its client connects. */
  async #add(call: RegisteredCall, way: RegisteredWay): Promise<void> {
    const { log, database, store, calls } = this.#options;
    const { callId, sessionId, agentId, agentVersion, agent, metadata, phones } = call;
    const limits = { lifeMs: REGISTERED_MS, most: MOST_WAITING };
    const status = 'registered';
    await log.inOrder(sessionId, async () => {
      const begun = await database.transaction(function* () {
        if (!(yield* store.add({ callId, sessionId, way, call }, limits))) {
          throw new ParleyError('REGISTRATIONS_FULL', { limit: MOST_WAITING, retryAfterS: RETRY_S });
        }
        const stored = yield* log.beginning({
          callId,
          sessionId,
          channel: way,
          agentId,
          agentVersion,
          agentConfig: agent,
          metadata,
          status,
          phones,
        });
        yield* calls.release(sessionId);
        return stored;
      });
      log.began(begun, false);
    });
  }

  #endInTime(sessionId: string): void {
    this.#end(sessionId, NOBODY_CAME).catch((error: unknown) => this.#options.onError(errorOf(error)));
  }

  async #end(sessionId: string, reason: string | null): Promise<boolean> {
    const { store, log } = this.#options;
    this.#forget(sessionId);
    const isRemoved = await this.#changed(() => store.remove(sessionId));
    if (isRemoved) await log.fail(sessionId, 'canceled', reason);
    return isRemoved;
  }

  /** Ends the registrations of nodes that have gone, again and again. */
  async #sweep(): Promise<void> {
    const { clock, database, store, log, onError } = this.#options;
    try {
      const expired = await database.transaction(() => store.removeExpired());
      for (const sessionId of expired) await log.fail(sessionId, 'canceled', NOBODY_CAME);
    } catch (error) {
      onError(errorOf(error));
    }
    if (this.#isClosed) return;
    this.#cancelSweep = clock.schedule(clock.nowMs() + SWEEP_MS, () => {
      void clock.settle(this.#sweep(), clock.nowMs());
    });
  }

  #changed<T>(work: () => Transaction<T>): Promise<T> {
    const { database } = this.#options;
    // On SQLite, registrations end with the process: nobody waits for the disk.
    return database.dialect === 'sqlite' ? database.lazyTransaction(work) : database.transaction(work);
  }

  #forget(sessionId: string): void {
    this.#limits.get(sessionId)?.();
    this.#limits.delete(sessionId);
  }
}
