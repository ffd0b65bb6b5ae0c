import { randomUUID } from 'node:crypto';
import type { AgentCall } from '../../telephony/calls/agent-call.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { Prices } from '../../settings/prices.js';
import { redactAgentConfig } from '../../agent/redact.js';
import type { CallHistory } from '../../engine/session-recorder.js';
import type { CallHistoryItem, QueueFacts } from '../../session/record/call-history.js';
import { unconnected } from '../../session/record/end-reason.js';
import type { SessionReport } from '../../session/record/session-report.js';
import { errorOf } from '../../base/errors.js';
import { Queues } from '../../base/queues.js';
import { nowUnixMs } from '../../base/real-clock.js';
import type { CallChannel, CallStore, NewCall, StoredCall } from '../../store/calls.js';
import { DIALS_LOCK } from '../../store/dials.js';
import { inTurn, type SqlDatabase, type Transaction, UnconfirmedCommit } from '../../store/sql/statement.js';
import { DirectWrites, type Written, type Writes } from '../../store/writes.js';
import { CallEventBus } from '../call-event-bus.js';
import type { CallFiles } from '../files/call-files.js';
import { type MultiplierOf, priced, pricedUsage } from './pricing.js';

/** The data of a call at its start. */
export interface CallBeginning {
  sessionId: string;
  /** Default none. */
  callId?: string | null | undefined;
  channel: CallChannel;
  /** Default `inbound`. */
  direction?: 'inbound' | 'outbound';
  agentId: string | null;
  /** Default null: a temporary agent. */
  agentVersion?: number | null | undefined;
  agentConfig: AgentConfig;
  /** Default none. */
  campaignId?: string | null | undefined;
  metadata?: Readonly<Record<string, unknown>>;
  /** The numbers of a phone call. */
  phones?: { readonly from: string; readonly to: string } | null | undefined;
  /** Default `in-progress`. */
  status?: string;
  /** Default: the call came to no queue. */
  queue?: QueueFacts | undefined;
}

export interface CallLogOptions {
  database: SqlDatabase;
  store: CallStore;
  /** Default: `database` can always be reached. */
  writes?: Writes;
  /** The order of the writes about each session. Default: of the log's own. */
  queues?: Queues;
  /** Default: recordings are stored with absolute paths, and none is looked for. */
  files?: CallFiles;
  /** Converts a time in a carrier's record to Unix milliseconds. Default: unchanged. */
  unixMsOf?: (recordedMs: number) => number;
  /** Default: everything is free. */
  prices?: Prices;
  /** Default 1. */
  multiplierOf?: MultiplierOf;
  /** A link to a call's recording that needs no key, for webhooks. Default: no link. */
  recordingUrl?: (sessionId: string) => string;
  /** Emits changes of calls. Default: no events. */
  events?: CallEventBus;
  /** Reports a status that could not be stored. Default: the fault is ignored. */
  onError?: (error: Error) => void;
}

interface StatusChange {
  sessionId: string;
  status: string;
  reason: string | null;
}

interface CallEnd {
  item: CallHistoryItem;
  recording: string | null;
}

/**
 * Writes each call to the store, from before it rings until after it has ended. The changes of a call are stored in the
 * order in which they are asked for; then the events are emitted.
 */
export class CallLog implements CallHistory {
  readonly #options: CallLogOptions;
  readonly #store: CallStore;
  readonly #events: CallEventBus;
  readonly #queues: Queues;
  /** Calls of this process that have not ended, as far as their changes are stored or wait for the database. */
  readonly #open = new Map<string, StoredCall>();
  readonly #setStatus: (data: StatusChange) => Promise<Written<StoredCall | null>>;
  readonly #setPhones: (data: { sessionId: string; from: string; to: string }) => Promise<Written<void>>;
  readonly #setQueue: (data: { sessionId: string; queue: QueueFacts }) => Promise<Written<StoredCall | null>>;
  readonly #setUnconfirmed: (sessionId: string) => Promise<Written<StoredCall | null>>;
  readonly #setEnd: (data: CallEnd) => Promise<Written<StoredCall | null>>;

  constructor(options: CallLogOptions) {
    this.#options = options;
    const { store, events = new CallEventBus(), queues = new Queues() } = options;
    const { writes = new DirectWrites(options.database) } = options;
    this.#store = store;
    this.#events = events;
    this.#queues = queues;
    this.#setStatus = writes.operation('call.status', ({ sessionId, status, reason }, agoUs) =>
      withParts(events, store.setStatus(sessionId, status, reason), agoUs),
    );
    this.#setPhones = writes.operation('call.phones', ({ sessionId, ...phones }) => store.setPhones(sessionId, phones));
    this.#setQueue = writes.operation('call.queue', ({ sessionId, queue }, agoUs) =>
      withParts(events, store.setQueue(sessionId, queue), agoUs),
    );
    this.#setUnconfirmed = writes.operation('call.unconfirmed', (sessionId, agoUs) =>
      withParts(events, ofUnconfirmed(options.database, store, sessionId, agoUs), agoUs),
    );
    this.#setEnd = writes.operation('call.end', ({ item, recording }, agoUs) =>
      withParts(events, ending(store, { item, recording }, agoUs), agoUs),
    );
  }

  /**
   * An id that no call in the log has. A network may reuse an id: SIP callers retry with the Call-ID of a call that they
   * gave up, and proxies keep it (RFC 3261, 8.1.3.5). The id of the later call starts with that of the network.
   */
  async unusedCallId(networkId: string): Promise<string> {
    return (await this.#store.byCallId(networkId)) === null ? networkId : `${networkId}-${randomUUID()}`;
  }

  /** Resolves when the call is stored. @throws ParleyError DATABASE_UNREACHABLE */
  begin(call: CallBeginning): Promise<StoredCall> {
    return this.inOrder(call.sessionId, async () => {
      const begun = await this.beginBy(call.sessionId, () =>
        this.#options.database.transaction(() => this.beginning(call)),
      );
      this.began(begun);
      return begun;
    });
  }

  /**
   * Runs a transaction that stores a new call. If the database does not say whether it has the call, the call is closed
   * once it can be reached: nobody holds it.
   */
  async beginBy<T>(sessionId: string, transaction: () => Promise<T>): Promise<T> {
    try {
      return await transaction();
    } catch (error) {
      if (error instanceof UnconfirmedCommit) {
        this.#reported(this.inOrder(sessionId, () => this.#setUnconfirmed(sessionId)));
      }
      throw error;
    }
  }

  /** The statements of `begin`, for a larger transaction. Run it with `inOrder`, and call `began` after it. */
  beginning(call: CallBeginning): Transaction<StoredCall> {
    return withParts(this.#events, this.#store.add(newCall(call)));
  }

  /**
   * Tells listeners about a stored call.
   * @param isOurs whether its next changes come from this process
   */
  began(call: StoredCall, isOurs = true): void {
    if (isOurs) this.#open.set(call.sessionId, call);
    this.#events.emit('call.created', call);
  }

  /** The next changes of a stored call come from this process. */
  claimed(call: StoredCall): void {
    this.#open.set(call.sessionId, call);
  }

  /** Runs a work when all writes about a session that were asked for before have ended. */
  inOrder<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    return this.#queues.run(sessionId, work);
  }

  /** Stores the numbers of a registered call when its client connects. */
  came(sessionId: string, phones: { readonly from: string; readonly to: string }): void {
    this.#reported(
      this.inOrder(sessionId, async () => {
        await this.#setPhones({ sessionId, ...phones });
        const call = this.#open.get(sessionId);
        if (call !== undefined) this.#open.set(sessionId, { ...call, fromPhone: phones.from, toPhone: phones.to });
      }),
    );
  }

  /** @param reason why the call ended; null = it has not ended, or the status says it */
  status(sessionId: string, status: string, reason: string | null = null): Promise<void> {
    return this.inOrder(sessionId, async () => {
      const written = await this.#setStatus({ sessionId, status, reason });
      const call = written === null ? this.#withStatus(sessionId, status, reason) : written.result;
      if (call === null) return;
      if (this.#open.has(sessionId)) this.#open.set(sessionId, call);
      this.#events.emit('call.status', call);
    });
  }

  /** Stores how a call fares in a queue, and tells listeners. Reports a fault. */
  noteQueue(sessionId: string, queue: QueueFacts): void {
    this.#reported(
      this.inOrder(sessionId, async () => {
        const written = await this.#setQueue({ sessionId, queue });
        const known = this.#open.get(sessionId);
        const call = written === null ? known && { ...known, item: { ...known.item, queue } } : written.result;
        if (call == null) return;
        if (known !== undefined) this.#open.set(sessionId, call);
        this.#events.emit('call.status', call);
      }),
    );
  }

  /** As `status`, for observers, which cannot wait: reports a fault. */
  noteStatus(sessionId: string, status: string, reason: string | null = null): void {
    this.#reported(this.status(sessionId, status, reason));
  }

  /** Closes the call of a session that has ended. Returns the item for webhooks. */
  async keep(item: CallHistoryItem, report: SessionReport): Promise<CallHistoryItem> {
    const { recordingUrl } = this.#options;
    const { recording } = report;
    // The operator's guards may have given the session a shorter limit than the agent's configuration.
    const kept = (await this.#end(item.session_id, recording, (begun) => ofBegun(item, begun.item))) ?? item;
    if (recordingUrl === undefined || recording === null) return kept;
    return { ...kept, recording: { recording_url: recordingUrl(item.session_id) } };
  }

  /**
   * Closes a call that had no session.
   * @param reason a sentence for people; null = the status says it
   * @param carrier the carrier's record of the call
   */
  async fail(
    sessionId: string,
    status: string,
    reason: string | null,
    carrier: CallHistoryItem['carrier_call_log'] = null,
  ): Promise<void> {
    const error_message = reason ?? unconnected({ status, error: null, carrier });
    const facts = { call_status: status, error_message, carrier_call_log: carrier };
    await this.#end(sessionId, null, ({ item }) => ({ ...item, ...facts }));
  }

  /** Closes a phone call, even if no session could be created for it. Never rejects. */
  async follow(call: AgentCall): Promise<void> {
    const hasSession = await call.session.then(
      () => true,
      () => false,
    );
    const { status, error, carrier: record } = await call.finished;
    if (hasSession) return;
    const carrier = record === null ? null : { ...record };
    this.#reported(this.fail(call.sessionId, status, unconnected({ status, error, carrier }), carrier));
  }

  /** Closes a call whose process died. */
  async close(item: CallHistoryItem, recording: string | null): Promise<void> {
    await this.#end(item.session_id, recording, () => item);
  }

  /** The statements that update the item of a call that has ended. They return the call; null = there is none. */
  amend(item: CallHistoryItem): Transaction<StoredCall | null> {
    return this.#store.amend(item.session_id, this.#priced(item));
  }

  /** Resolves when no change waits to be stored. */
  idle(): Promise<void> {
    return this.#queues.idle();
  }

  #priced(item: CallHistoryItem): CallHistoryItem {
    const { prices = {}, multiplierOf = () => 1 } = this.#options;
    const whole = { ...item, cost_breakdown: priced(item, prices, multiplierOf) };
    if (item.agents === undefined) return whole;
    const agents = item.agents.map((agent) => {
      return { ...agent, cost_breakdown: pricedUsage(agent.cost_breakdown, item, prices, multiplierOf) };
    });
    return { ...whole, agents };
  }

  /** @param itemOf the item at the end of the call that has begun */
  #end(
    sessionId: string,
    recording: string | null,
    itemOf: (begun: StoredCall) => CallHistoryItem,
  ): Promise<CallHistoryItem | null> {
    const { files, unixMsOf = (ms) => ms } = this.#options;
    return this.inOrder(sessionId, async () => {
      const begun = this.#open.get(sessionId) ?? (await this.#store.get(sessionId));
      if (begun?.endedUs !== null) return null;
      const item = itemOf(begun);
      const costs = { ...this.#priced(item), carrier_call_log: dated(item.carrier_call_log, unixMsOf) };
      const kept = files === undefined ? recording : files.kept(recording);
      const written = await this.#setEnd({ item: costs, recording: kept });
      this.#open.delete(sessionId);
      const ended = written === null ? this.#ended(begun, costs, kept) : written.result;
      if (ended !== null) this.#events.emit('call.ended', ended);
      return ended?.item ?? null;
    });
  }

  /** A call as it will be stored; null = it is not of this process. */
  #withStatus(sessionId: string, status: string, reason: string | null): StoredCall | null {
    const call = this.#open.get(sessionId);
    if (call === undefined) return null;
    const error_message = reason ?? call.item.error_message;
    return { ...call, status, item: { ...call.item, error_message, call_status: status } };
  }

  #ended(begun: StoredCall, item: CallHistoryItem, recording: string | null): StoredCall {
    const kept = { ...item, ts: begun.tsUs / 1e6, recording: null };
    const endedUs = Math.floor(nowUnixMs() * 1000);
    return { ...begun, recording, endedUs, status: item.call_status, item: kept };
  }

  #reported(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#options.onError?.(errorOf(error)));
  }
}

/**
 * Closes a call. If another node has taken this one for dead and has closed it, the call keeps that status and its reason,
 * and gets what only this node knows: what was said, and what it cost.
 */
function* ending(store: CallStore, { item, recording }: CallEnd, agoUs: number): Transaction<StoredCall | null> {
  const { session_id: id } = item;
  const call = yield* store.end(id, item, recording, agoUs);
  if (call !== null) return call;
  const closed = yield* store.find(id);
  if (closed !== null) yield* store.amend(id, { ...item, error_message: closed.item.error_message });
  return null;
}

/** Closes a call of which the database has not confirmed that it was stored; null = it was not, or it has ended. */
function* ofUnconfirmed(
  database: SqlDatabase,
  store: CallStore,
  sessionId: string,
  agoUs: number,
): Transaction<StoredCall | null> {
  // The server may still be at the transaction that stores an outbound call.
  yield* inTurn(database, DIALS_LOCK);
  const call = yield* store.find(sessionId);
  if (call?.endedUs !== null) return null;
  const error_message = 'The connection to the database broke before the call was placed.';
  return yield* store.end(sessionId, { ...call.item, call_status: 'error', error_message }, null, agoUs);
}

/** Runs the parts of other modules in the transaction that changes a call. */
function* withParts<T extends StoredCall | null>(
  events: CallEventBus,
  change: Transaction<T>,
  agoUs = 0,
): Transaction<T> {
  const call = yield* change;
  if (call !== null) yield* events.partsOf(call, agoUs);
  return call;
}

function newCall(call: CallBeginning): NewCall {
  const { direction = 'inbound', status = 'in-progress', phones = null, callId = null, campaignId = null } = call;
  const { agentVersion = null } = call;
  const created: NewCall = {
    sessionId: call.sessionId,
    callId,
    channel: call.channel,
    direction,
    agentId: call.agentId,
    agentVersion,
    campaignId,
    fromPhone: phones?.from ?? null,
    toPhone: phones?.to ?? null,
    status,
    item: {
      agent_id: call.agentId,
      agent_config: redactAgentConfig(call.agentConfig),
      duration: 0,
      ts: 0,
      chat: '[]',
      chars_used: 0,
      session_id: call.sessionId,
      call_id: callId,
      cost_breakdown: [],
      voip: phones === null ? null : { from: phones.from, to: phones.to, direction, transfer: null },
      recording: null,
      metadata: call.metadata ?? {},
      function_calls: [],
      call_status: status,
      campaign_id: campaignId,
      error_message: null,
      call_metrics: NO_METRICS,
      carrier_call_log: null,
    },
  };
  if (agentVersion !== null) created.item.agent_version = agentVersion;
  if (call.queue !== undefined) created.item.queue = call.queue;
  return created;
}

const NO_METRICS: CallHistoryItem['call_metrics'] = {
  utterance_latency: null,
  end_of_turn: null,
  llm_first: null,
  first_sentence: null,
  tts_first: null,
  turns: 0,
  line: null,
};

/** The item of a session, with what only the log knows of the call. */
function ofBegun(item: CallHistoryItem, { agent_config, agent_version, queue }: CallHistoryItem): CallHistoryItem {
  const kept = { ...item, agent_config };
  if (agent_version !== undefined) kept.agent_version = agent_version;
  if (queue !== undefined) kept.queue = queue;
  return kept;
}

/** A carrier's record with Unix times in place of times of the engine's clock. */
function dated(record: CallHistoryItem['carrier_call_log'], unixMsOf: (ms: number) => number) {
  if (record === null) return null;
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      name.endsWith('Ms') && typeof value === 'number' ? Math.round(unixMsOf(value)) : value,
    ]),
  );
}
