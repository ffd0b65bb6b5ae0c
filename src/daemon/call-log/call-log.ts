import { randomUUID } from 'node:crypto';
import type { AgentCall } from '../../telephony/calls/agent-call.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { Prices } from '../../settings/prices.js';
import { redactAgentConfig } from '../../agent/redact.js';
import type { CallHistory } from '../../engine/session-recorder.js';
import { type CallHistoryItem } from '../../session/record/call-history.js';
import { unconnected } from '../../session/record/end-reason.js';
import type { SessionReport } from '../../session/record/session-report.js';
import type { CallChannel, CallStore, StoredCall } from '../../store/calls.js';
import { CallEventBus } from '../call-event-bus.js';
import type { CallFiles } from '../files/call-files.js';
import { type MultiplierOf, priced } from './pricing.js';

/** The data of a call at its start. */
export interface CallBeginning {
  sessionId: string;
  /** Default none. */
  callId?: string | null | undefined;
  channel: CallChannel;
  /** Default `inbound`. */
  direction?: 'inbound' | 'outbound';
  agentId: string | null;
  agentConfig: AgentConfig;
  /** Default none. */
  campaignId?: string | null | undefined;
  metadata?: Readonly<Record<string, unknown>>;
  /** The numbers of a phone call. */
  phones?: { readonly from: string; readonly to: string } | null | undefined;
  /** Default `in-progress`. */
  status?: string;
}

export interface CallLogOptions {
  store: CallStore;
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
  /** Runs a change and its listeners in one transaction. Default: no transaction. */
  atomically?: <T>(work: () => T) => T;
}

/** Writes each call to the store, from before it rings until after it has ended. */
export class CallLog implements CallHistory {
  readonly #options: CallLogOptions;
  readonly #store: CallStore;
  readonly #events: CallEventBus;
  readonly #atomically: <T>(work: () => T) => T;

  constructor(options: CallLogOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#events = options.events ?? new CallEventBus();
    this.#atomically = options.atomically ?? ((work) => work());
  }

  /**
   * An id that no call in the log has. A network may reuse an id: SIP callers retry with the Call-ID of a call that they
   * gave up, and proxies keep it (RFC 3261, 8.1.3.5). The id of the later call starts with that of the network.
   */
  unusedCallId(networkId: string): string {
    return this.#store.byCallId(networkId) === null ? networkId : `${networkId}-${randomUUID()}`;
  }

  begin(call: CallBeginning): StoredCall {
    return this.#atomically(() => this.#begin(call));
  }

  #begin(call: CallBeginning): StoredCall {
    const { direction = 'inbound', status = 'in-progress', phones = null, callId = null, campaignId = null } = call;
    const begun = this.#store.add({
      sessionId: call.sessionId,
      callId,
      channel: call.channel,
      direction,
      agentId: call.agentId,
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
    });
    this.#events.emit('call.created', begun);
    return begun;
  }

  /** Stores the numbers of a registered call when its client connects. */
  came(sessionId: string, phones: { readonly from: string; readonly to: string }): void {
    this.#store.setPhones(sessionId, phones);
  }

  /** @param reason why the call ended; null = it has not ended, or the status says it */
  status(sessionId: string, status: string, reason: string | null = null): void {
    this.#atomically(() => {
      const call = this.#store.setStatus(sessionId, status, reason) ? this.#store.get(sessionId) : null;
      if (call !== null) this.#events.emit('call.status', call);
    });
  }

  /** Closes the call of a session that has ended. Returns the item for webhooks. */
  keep(item: CallHistoryItem, report: SessionReport): CallHistoryItem {
    const { recordingUrl } = this.#options;
    // The operator's guards may have given the session a shorter limit than the agent's configuration.
    const begun = this.#store.get(item.session_id)?.item.agent_config;
    const kept = this.#end({ ...item, agent_config: begun ?? item.agent_config }, report.recording) ?? item;
    if (recordingUrl === undefined || report.recording === null) return kept;
    return { ...kept, recording: { recording_url: recordingUrl(item.session_id) } };
  }

  /**
   * Closes a call that had no session.
   * @param reason a sentence for people; null = the status says it
   * @param carrier the carrier's record of the call
   */
  fail(
    sessionId: string,
    status: string,
    reason: string | null,
    carrier: CallHistoryItem['carrier_call_log'] = null,
  ): void {
    const call = this.#store.get(sessionId);
    if (call === null) return;
    const error_message = reason ?? unconnected({ status, error: null, carrier });
    this.#end({ ...call.item, call_status: status, error_message, carrier_call_log: carrier }, null);
  }

  /** Closes a phone call, even if no session could be created for it. */
  async follow(call: AgentCall): Promise<void> {
    const hasSession = await call.session.then(
      () => true,
      () => false,
    );
    const { status, error, carrier: record } = await call.finished;
    if (hasSession) return;
    const carrier = record === null ? null : { ...record };
    this.fail(call.sessionId, status, unconnected({ status, error, carrier }), carrier);
  }

  /** Closes a call whose process died. */
  close(item: CallHistoryItem, recording: string | null): void {
    this.#end(item, recording);
  }

  /** Updates the item of a call that has ended. Returns the call; null = there is none. */
  amend(item: CallHistoryItem): StoredCall | null {
    return this.#store.amend(item.session_id, this.#priced(item));
  }

  #priced(item: CallHistoryItem): CallHistoryItem {
    const { prices = {}, multiplierOf = () => 1 } = this.#options;
    return { ...item, cost_breakdown: priced(item, prices, multiplierOf) };
  }

  #end(item: CallHistoryItem, recording: string | null): CallHistoryItem | null {
    const { files, unixMsOf = (ms) => ms } = this.#options;
    const costs = { ...this.#priced(item), carrier_call_log: dated(item.carrier_call_log, unixMsOf) };
    const kept = files === undefined ? recording : files.kept(recording);
    const ended = this.#atomically(() => {
      const call = this.#store.end(item.session_id, costs, kept);
      if (call !== null) this.#events.emit('call.ended', call);
      return call;
    });
    return ended?.item ?? null;
  }
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
