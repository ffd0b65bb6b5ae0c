import { randomUUID } from 'node:crypto';
import type { AgentCall } from '../calls/agent-call.js';
import { simulatedCarrier } from '../calls/simulated-carrier.js';
import { type CallAgent, type OutboundCall, Switchboard } from '../calls/switchboard.js';
import type { Carrier, CarrierCall } from '../carriers/carrier.js';
import type { SimulatedNetwork } from '../carriers/simulated/network.js';
import { overriddenAgent } from '../config/override-agent.js';
import type { Engine } from '../engine/engine.js';
import { errorOf, ParleyError } from '../errors.js';
import type { SessionEvent } from '../session/session-options.js';
import type { PhoneStore } from '../store/phones.js';
import type { AgentRegistry } from './agents.js';
import type { CallLog } from './call-log.js';

export interface TelephoneOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get'>;
  phones: PhoneStore;
  log: CallLog;
  maxSessions: number;
  /** As `SwitchboardOptions.mayTransfer`. */
  mayTransfer?: (target: string) => string | null;
  /** False while the daemon is shutting down: nobody answers any more. */
  isOpen: () => boolean;
  onSessionEvent: (sessionId: string, agentId: string, event: SessionEvent) => void;
  onError: (error: Error) => void;
}

/** The daemon's phone: its carrier, and who answers which number. */
export class Telephone {
  readonly carrier: Carrier;
  readonly #network: SimulatedNetwork;
  readonly #switchboard: Switchboard;
  readonly #options: TelephoneOptions;

  private constructor(network: SimulatedNetwork, options: TelephoneOptions) {
    this.carrier = network;
    this.#network = network;
    this.#options = options;
    const onError = (error: unknown): void => options.onError(errorOf(error));
    const { engine, mayTransfer } = options;
    this.#switchboard = new Switchboard({ engine, carrier: network, onError, ...(mayTransfer && { mayTransfer }) });
    this.#switchboard.receive(
      (call) => this.#route(call),
      (call) => void options.log.follow(call),
    );
  }

  /** @throws ParleyError FILE_NOT_READABLE, InvalidConfigError where the network's numbers are not what they should be */
  static async open(options: TelephoneOptions): Promise<Telephone> {
    const { engine, phones, onError } = options;
    const owned = phones.list().map(({ number }) => number);
    const carrier = await simulatedCarrier({
      engine,
      owned,
      // The log knows the calls of earlier processes as well.
      idPrefix: `sim-${randomUUID().slice(0, 8)}`,
      onError: (error) => onError(errorOf(error)),
    });
    return new Telephone(carrier, options);
  }

  /** Somebody of the simulated network calls one of our numbers. @throws ParleyError NOT_FOUND for an unknown caller */
  callIn(caller: string, to: string): CarrierCall {
    const known = this.#network.callers.get(caller);
    if (known === undefined) throw new ParleyError('NOT_FOUND', { what: 'caller', id: caller });
    return this.#network.callIn(known, to);
  }

  /** Calls somebody on behalf of an agent; the log sees the call to its end. @throws ParleyError as `Switchboard.place` */
  async place(call: OutboundCall): Promise<AgentCall> {
    const placed = await this.#switchboard.place(call);
    void this.#options.log.follow(placed);
    return placed;
  }

  /** The call of a session that is under way. */
  find(sessionId: string): AgentCall | null {
    for (const call of this.#switchboard.calls) if (call.sessionId === sessionId) return call;
    return null;
  }

  /** How many calls are under way. */
  get calls(): number {
    return this.#switchboard.calls.size;
  }

  async close(): Promise<void> {
    await this.#switchboard.close();
    await this.carrier.close();
  }

  /** The agent of a number; null where nobody is to answer. */
  #route(call: CarrierCall): CallAgent | null {
    const { engine, agents, phones, log, maxSessions, onSessionEvent } = this.#options;
    const { id: callId, from, to } = call;
    const phone = phones.get(to);
    if (!this.#options.isOpen()) return null;
    if (phone === null || phone.status !== 'active' || phone.agentId === null) return null;
    if (engine.sessions.size >= maxSessions) return null;
    const { id: agentId, config, script } = agents.get(phone.agentId);
    const agent = overriddenAgent(config, phone.agentConfigOverride);
    if (agent.status === 'disabled') return null;
    const id = randomUUID();
    log.begin({
      ...{ sessionId: id, callId, channel: 'phone', agentId, agentConfig: agent, phones: { from, to } },
      status: 'ringing',
    });
    return {
      ...{ id, callId, agentId, agent, script },
      observe: (event) => onSessionEvent(id, agentId, event),
      onStatus: (status) => log.status(id, status),
    };
  }
}
