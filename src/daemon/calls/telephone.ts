import { randomUUID } from 'node:crypto';
import type { AgentCall } from '../../telephony/calls/agent-call.js';
import { ANONYMOUS } from '../../telephony/carriers/sip/headers.js';
import { isAllowedExtension } from '../../telephony/carriers/sip/open.js';
import type { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import { type OutboundCall, type OwnCall, Switchboard } from '../../telephony/calls/switchboard.js';
import type { QueueSettings } from '../../agent/extensions/queue.js';
import type { QueueFacts } from '../../session/record/call-history.js';
import type { CallAgent } from '../../telephony/calls/call-agent.js';
import type { MayTransfer } from '../../session/line/line-actions.js';
import type { CallRefusal, CallRequest, Carrier, CarrierCall } from '../../telephony/carriers/carrier.js';
import type { CallMediaHost } from '../../telephony/carriers/sip/call-media-host.js';
import { whyNeverCalled } from '../../telephony/carriers/destinations.js';
import { JoinedCarriers } from '../../telephony/carriers/joined.js';
import type { WebhookEndpoint } from '../../telephony/carriers/media-socket/webhook-endpoint.js';
import type { Engine } from '../../engine/engine.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { Leases } from '../../store/leases.js';
import type { PhoneStore, StoredPhone } from '../../store/phones.js';
import type { AdmissionControl } from '../admission-control.js';
import type { AgentRegistry } from '../agents/agents.js';
import { callerOf, checkRequestedAgent, requestedAgent, type RequestedAgent } from '../agents/requested-agent.js';
import type { CallEventBus } from '../call-event-bus.js';
import type { CallLog } from '../call-log/call-log.js';
import type { CallQueues } from '../queues/call-queues.js';
import type { InboundWebhook } from './inbound-webhook.js';
import { type NetworkSettings, type Networks, openNetworks } from './networks.js';
import { isCallId, type RegisteredCalls } from './registered-calls.js';

export interface TelephoneOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get' | 'forConversation'>;
  phones: PhoneStore;
  log: CallLog;
  /** Calls also go over the networks of these settings. */
  settings: NetworkSettings;
  /** Calls registered for SIP. */
  registered: Pick<RegisteredCalls, 'take'>;
  admission: AdmissionControl;
  leases: Pick<Leases, 'lead'>;
  /** As `CarrierAccount.tokenPrefix`. */
  tokenPrefix?: () => string;
  /** As `NetworksOptions.openCallMedia`. */
  openCallMedia?: (() => Promise<CallMediaHost>) | undefined;
  /** Statistics of SIP trunks. */
  figures?: CarrierStatistics | undefined;
  /** Chooses the agents of inbound calls; null = each number's own. */
  inbound: Pick<InboundWebhook, 'ask'> | null;
  /** Where calls wait that find no free session. */
  queues: CallQueues;
  /** As `SwitchboardOptions.mayTransfer`. */
  mayTransfer: MayTransfer;
  events: CallEventBus;
  onError: (error: Error) => void;
}

/** The agent of a call, and what the operator has given for it. */
type WantedAgent = RequestedAgent & Pick<CallAgent, 'metadata' | 'includeMetadataInPrompt' | 'continuation'>;

/** The daemon's telephone: its carriers, and the agent of each number. */
export class Telephone {
  readonly carrier: Carrier<SessionLine>;
  readonly #networks: Networks;
  readonly #switchboard: Switchboard;
  readonly #options: TelephoneOptions;
  /** Inbound calls whose session does not exist yet. */
  readonly #coming = new Set<string>();
  readonly #closing = new AbortController();

  private constructor(networks: Networks, options: TelephoneOptions) {
    const { carrier } = networks;
    this.carrier = carrier;
    this.#networks = networks;
    this.#options = options;
    const onError = (error: unknown): void => options.onError(errorOf(error));
    const { engine, mayTransfer, settings } = options;
    this.#switchboard = new Switchboard({
      engine,
      carrier,
      onError,
      mayTransfer,
      isAllowedExtension: (target) => isAllowedExtension(settings.sip, target),
      ownCalls: {
        begin: (call) => this.#ownCall(call),
        placed: (call) => void options.log.follow(call),
      },
    });
    this.#switchboard.receive(
      (call) => this.#route(call),
      (call) => {
        void options.log.follow(call);
        const made = (): boolean => this.#coming.delete(call.sessionId);
        void call.session.then(made, made);
        options.queues.answered(call);
      },
    );
    options.admission.count({ pending: () => this.coming, calls: () => this.#switchboard.calls.size });
  }

  /** @throws ParleyError FILE_NOT_READABLE, InvalidConfigError if the file of simulated numbers is invalid */
  static async open(options: TelephoneOptions): Promise<Telephone> {
    const { engine, phones, settings, figures, openCallMedia, admission, leases, tokenPrefix, agents } = options;
    const { maxSessions } = admission;
    const hasQueue = (): boolean => phones.list().some((phone) => queueOf(agents, phone) !== null);
    const takesCalls = (): boolean => admission.isOpen && (!admission.isFull || hasQueue());
    const onError = (error: unknown): void => options.onError(errorOf(error));
    return new Telephone(
      await openNetworks({
        engine,
        phones,
        settings,
        figures,
        openCallMedia,
        takesCalls,
        leases,
        tokenPrefix,
        maxSessions,
        onError,
        isAddress: isCallId,
      }),
      options,
    );
  }

  /** A simulated caller calls one of the daemon's numbers. @throws ParleyError NOT_FOUND for an unknown caller */
  callIn(caller: string, to: string): CarrierCall<SessionLine> {
    const known = this.#networks.simulated.callers.get(caller);
    if (known === undefined) throw new ParleyError('NOT_FOUND', { what: 'caller', id: caller });
    return this.#networks.simulated.callIn(known, to);
  }

  /** The carrier whose webhook or media socket has this path; null = none. */
  endpointAt(path: string): WebhookEndpoint | null {
    return this.#networks.endpoints.find((endpoint) => path.startsWith(`${endpoint.path}/`)) ?? null;
  }

  /** Takes the numbers from the store: another node has bought or released some. */
  updateNumbers(): void {
    this.#networks.updateNumbers();
  }

  /** The network of one of the daemon's numbers. */
  networkOf(number: string): string {
    const { carrier } = this;
    return (carrier instanceof JoinedCarriers ? carrier.carrierOf(number) : carrier)?.name ?? carrier.name;
  }

  /** Whether one of the daemon's numbers exists in the simulated network only. */
  isSimulated(number: string): boolean {
    return this.networkOf(number) === this.#networks.simulated.name;
  }

  /** The address at which a PBX calls a registered call. @throws ParleyError SIP_NO_TRUNK */
  addressOf(callId: string): string {
    const { sip } = this.#networks;
    if (sip === null) throw new ParleyError('SIP_NO_TRUNK');
    return sip.addressOf(callId);
  }

  /** Places a call for an agent and logs it until its end. @throws ParleyError as `Switchboard.place` */
  async place(call: OutboundCall): Promise<AgentCall> {
    const placed = await this.#switchboard.place(call);
    void this.#options.log.follow(placed);
    return placed;
  }

  /** Calls somebody who joins a session: their line is on this thread. @throws ParleyError as `Carrier.placeCall` */
  callPerson(call: Omit<CallRequest, 'isHere'>): CarrierCall<SessionLine> {
    return this.carrier.placeCall({ ...call, isHere: true });
  }

  /** The call of a running session. */
  find(sessionId: string): AgentCall | null {
    for (const call of this.#switchboard.calls) if (call.sessionId === sessionId) return call;
    return null;
  }

  /** Ends all calls in progress. */
  hangUpAll(): void {
    for (const call of this.#switchboard.calls) void call.hangUp();
  }

  /** The number of inbound calls whose session does not exist yet. Each counts against `maxSessions`. */
  get coming(): number {
    for (const { id } of this.#options.engine.sessions) this.#coming.delete(id);
    return this.#coming.size;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#switchboard.close();
    await this.#networks.close();
  }

  /** A consultation call before an attended transfer. The log has it as a separate call. */
  #ownCall({ agent, askedFor, ...call }: OwnCall): Pick<CallAgent, 'observe' | 'onStatus'> {
    const { log, events, onError } = this.#options;
    const { sessionId, agentId } = call;
    const begun = log.begin({
      ...call,
      channel: 'phone',
      direction: 'outbound',
      agentConfig: agent.agent,
      metadata: { asked_for: askedFor },
      status: 'dispatching',
    });
    begun.catch((error: unknown) => onError(errorOf(error)));
    return {
      observe: events.observer(sessionId, agentId ?? null),
      onStatus: (status, reason) => log.noteStatus(sessionId, status, reason),
    };
  }

  /** The agent of a number, or the reason why no agent answers. */
  async #route(call: CarrierCall<SessionLine>): Promise<CallAgent | CallRefusal> {
    const { agents, phones, admission, inbound, queues } = this.#options;
    const { to } = call;
    if (!admission.isOpen) return 'full';
    if (isCallId(to)) return this.#registered(call);
    const phone = phones.get(to);
    if (phone === null || phone.status !== 'active') return 'unavailable';
    if (phone.agentId === null && inbound === null) return 'unavailable';
    const hasRoom = !admission.isFull;
    // The operator's webhook may name an agent with a queue.
    if (!hasRoom && inbound === null && queueOf(agents, phone) === null) return 'full';
    const id = randomUUID();
    if (hasRoom) this.#coming.add(id);
    let taken = false;
    try {
      const found = await this.#answered(call, phone, { id, hasRoom });
      taken = typeof found !== 'string';
      return found;
    } finally {
      if (!taken) {
        this.#coming.delete(id);
        queues.over(id);
      }
    }
  }

  /** The agent of a call, once it has a session for it. */
  async #answered(
    call: CarrierCall<SessionLine>,
    phone: StoredPhone,
    { id, hasRoom }: { id: string; hasRoom: boolean },
  ): Promise<CallAgent | CallRefusal> {
    const { engine, log, events, queues, onError } = this.#options;
    const phones = { from: call.from, to: call.to };
    const sinceMs = engine.clock.nowMs();
    const found = await this.#wanted(call, phone, id);
    if (typeof found === 'string') return found;
    const { continuation, metadata = null, agentVersion, ...agent } = found;
    const request = { ...agent, metadata };
    const { agentId } = agent;
    const settings = phone.queue ?? agent.extensions?.queue ?? null;
    // A number with a queue of its own has its own line of callers.
    const queueId = phone.queue === null && agentId !== null ? agentId : call.to;
    const mustWait = !hasRoom || (settings !== null && queues.stops(queueId, request, settings));
    if (mustWait && settings === null) return 'full';
    if (mustWait) this.#coming.delete(id);
    else if (settings !== null) queues.enter(queueId, settings, id);
    const callId = await log.unusedCallId(call.id);
    // The agent is prepared meanwhile. A call that cannot be stored is not taken.
    const begin = (queue?: QueueFacts): void => {
      const status = queue === undefined ? 'ringing' : 'queued';
      const known = { callId, agentId, agentVersion, agentConfig: agent.agent, phones };
      const facts = { ...known, channel: 'phone', status } as const;
      log.begin({ sessionId: id, ...facts, metadata: metadata ?? {}, queue }).catch((error: unknown) => {
        onError(errorOf(error));
        call.hangUp('failed');
      });
    };
    const answering: CallAgent = {
      ...request,
      id,
      callId,
      continuation,
      observe: events.observer(id, agentId),
      onStatus: (status, reason) => log.noteStatus(id, status, reason),
    };
    if (!mustWait || settings === null) {
      begin();
      return answering;
    }
    const turn = await queues.join({
      id,
      queueId,
      settings,
      call,
      sinceMs,
      begin,
      take: () => void this.#coming.add(id),
      mayTransfer: (target) => whyNeverCalled(target) ?? this.#options.mayTransfer(target),
      request: { ...request, phones },
    });
    if (typeof turn === 'string') return turn;
    const { line, voicemail } = turn;
    return voicemail === null ? { ...answering, line } : { ...voicemail.callAgent(answering), line };
  }

  /** The agent of an inbound call: the operator's choice, else the number's own. @param id of the session */
  async #wanted(call: CarrierCall<SessionLine>, phone: StoredPhone, id: string): Promise<WantedAgent | CallRefusal> {
    const { agents, inbound, engine, onError } = this.#options;
    const { agentId, agentVersion, agentConfigOverride } = phone;
    // A caller without a number, or with a withheld one, gets a version anew with each call.
    const caller = call.from === ANONYMOUS ? id : (callerOf({}, {}, call.from) ?? id);
    if (inbound !== null) {
      try {
        const { id: callId, from, to } = call;
        const wish = await inbound.ask({ callId, from, to, carrier: phone.carrier, agentId }, this.#closing.signal);
        if (wish.reject != null) return wish.reject === 'busy' ? 'declined' : 'unavailable';
        const metadata = wish.metadata ?? {};
        const chosen = wish.agent_id ?? agentId;
        const own = {
          agentConfig: wish.agent_config ?? null,
          agentExtensions: wish.agent_extensions ?? null,
          agentVersion: wish.agent_version ?? (chosen === agentId ? agentVersion : null),
        };
        if (chosen !== null || own.agentConfig !== null) {
          const override = chosen === agentId ? agentConfigOverride : null;
          const found = await requestedAgent(agents, chosen, own, caller, override);
          const includeMetadataInPrompt = wish.include_metadata_in_prompt ?? false;
          await checkRequestedAgent(engine, found, { metadata, includeMetadataInPrompt, phones: { from, to } });
          return { ...found, metadata, includeMetadataInPrompt, continuation: wish.session_continuation };
        }
      } catch (error) {
        onError(new Error(`inboundWebhook, about a call to ${call.to}: ${reasonOf(error)}`, { cause: error }));
      }
    }
    if (agentId === null) return 'unavailable';
    try {
      const own = { agentConfig: null, agentExtensions: null, agentVersion };
      return await requestedAgent(agents, agentId, own, caller, agentConfigOverride);
    } catch (error) {
      if (error instanceof ParleyError && error.code === 'AGENT_DISABLED') return 'unavailable';
      throw error;
    }
  }

  /** The agent of a registered call. */
  async #registered({ from, to }: CarrierCall<SessionLine>): Promise<CallAgent | CallRefusal> {
    const { log, events, admission, registered } = this.#options;
    if (admission.isFull) return 'full';
    const call = await registered.take(to, 'phone').catch(unlessNotFound);
    if (call === null) return 'unknown';
    const { sessionId: id, callId, agentId, agent, metadata, includeMetadataInPrompt, continuation } = call;
    const { script, extensions } = call;
    log.came(id, { from, to });
    if (agent.status !== 'disabled') this.#coming.add(id);
    return {
      id,
      callId,
      agent,
      script,
      extensions,
      metadata,
      includeMetadataInPrompt,
      agentId,
      continuation,
      observe: events.observer(id, agentId),
      onStatus: (status, reason) => log.noteStatus(id, status, reason),
    };
  }
}

/** The queue of a number, or else of its agent; null = there is none. */
function queueOf(agents: Pick<AgentRegistry, 'get'>, { agentId, queue }: StoredPhone): QueueSettings | null {
  if (queue !== null || agentId === null) return queue;
  try {
    return agents.get(agentId).extensions?.queue ?? null;
  } catch {
    return null; // its agent was deleted
  }
}

/** @throws any other error */
function unlessNotFound(error: unknown): null {
  if (error instanceof ParleyError && error.code === 'NOT_FOUND') return null;
  throw error;
}
