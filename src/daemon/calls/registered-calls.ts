import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../../base/clock.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { AgentExtensions } from '../../agent/extensions/extensions.js';
import type { SessionContinuation } from '../../agent/continuation.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { CallIds } from './dial.js';
import { checkRequestedAgent, requestedAgent, type RequestedAgent } from '../agents/requested-agent.js';

/** The data of a registration. */
export interface CallRegistration {
  agentId: string | null;
  agentConfig: AgentConfig | null;
  agentExtensions: AgentExtensions | null;
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
  agents: Pick<AgentRegistry, 'get'>;
  log: CallLog;
  clock: Clock;
  onError: (error: Error) => void;
}

/** How the client of a registered call connects. */
type Way = 'talk' | 'phone';

/** How long a client may take to connect. */
export const REGISTERED_MS = 300_000;
/** Maximum of waiting calls. */
const MOST_WAITING = 1_000;
const RETRY_S = 30;

/**
 * Calls that a client's server has registered. The client connects to `/talk` with the call's id, or a PBX calls a SIP
 * address of the daemon, once and within the time limit. Registrations are in memory only.
 */
export class RegisteredCalls {
  readonly #options: RegisteredCallsOptions;
  /** Registrations that are not stored yet. */
  #storing = 0;
  readonly #waiting = new Map<string, { call: RegisteredCall; over: Way; cancel: Cancel }>();

  constructor(options: RegisteredCallsOptions) {
    this.#options = options;
  }

  /**
   * @param expect makes the SIP side expect the call; returns a function that ends that
   * @throws InvalidConfigError; ParleyError NOT_FOUND, AGENT_DISABLED, REGISTRATIONS_FULL, and what `expect` throws
   */
  async register(registration: CallRegistration, expect?: (callId: string) => Cancel): Promise<CallIds> {
    const { engine, agents, log, clock, onError } = this.#options;
    const { agentId, metadata, includeMetadataInPrompt, continuation, phones } = registration;
    const requested = requestedAgent(agents, agentId, registration);
    await checkRequestedAgent(engine, requested, {
      metadata,
      includeMetadataInPrompt,
      phones,
    });
    if (continuation !== null) await engine.checkContinuation(continuation, agentId);
    if (this.#waiting.size + this.#storing >= MOST_WAITING) {
      throw new ParleyError('REGISTRATIONS_FULL', { limit: MOST_WAITING, retryAfterS: RETRY_S });
    }
    const ids = { callId: randomUUID(), sessionId: randomUUID() };
    const { agent: config } = requested;
    const over: Way = expect === undefined ? 'talk' : 'phone';
    const expectNoMore = expect?.(ids.callId);
    this.#storing++;
    try {
      await log.begin({
        ...ids,
        channel: over,
        agentId,
        agentConfig: config,
        metadata,
        status: 'registered',
        phones,
      });
    } catch (error) {
      expectNoMore?.();
      throw error;
    } finally {
      this.#storing--;
    }
    const call = { ...ids, ...requested, metadata, includeMetadataInPrompt, continuation, phones };
    const cancelTimer = clock.schedule(clock.nowMs() + REGISTERED_MS, () => {
      this.#close(ids.callId, 'no client connected within five minutes').catch(onError);
    });
    const cancel = (): void => {
      cancelTimer();
      expectNoMore?.();
    };
    this.#waiting.set(ids.callId, { call, over, cancel });
    return ids;
  }

  /**
   * Takes a call out of the registrations.
   * @param over how its client connects; it must match the registration
   * @throws ParleyError NOT_FOUND
   */
  take(callId: string, over: Way): RegisteredCall {
    const waiting = this.#waiting.get(callId);
    if (waiting?.over !== over) throw new ParleyError('NOT_FOUND', { what: 'registered call', id: callId });
    waiting.cancel();
    this.#waiting.delete(callId);
    return waiting.call;
  }

  /** Cancels a registration. Returns whether a call of this session was waiting. */
  async end(sessionId: string): Promise<boolean> {
    for (const [callId, { call }] of this.#waiting) {
      if (call.sessionId !== sessionId) continue;
      await this.#close(callId, null);
      return true;
    }
    return false;
  }

  async close(): Promise<void> {
    const { onError } = this.#options;
    const closing = Array.from(this.#waiting.keys(), (callId) =>
      this.#close(callId, 'the daemon has stopped').catch(onError),
    );
    await Promise.all(closing);
  }

  async #close(callId: string, reason: string | null): Promise<void> {
    const waiting = this.#waiting.get(callId);
    if (waiting === undefined) return;
    const { sessionId } = this.take(callId, waiting.over);
    await this.#options.log.fail(sessionId, 'canceled', reason);
  }
}
