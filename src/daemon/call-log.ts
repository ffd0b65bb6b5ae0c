import type { AgentCall } from '../calls/agent-call.js';
import type { AgentConfig } from '../config/agent.js';
import type { Prices } from '../config/prices.js';
import { redactAgentConfig } from '../config/redact.js';
import type { CallHistory } from '../engine/options.js';
import type { CallHistoryItem } from '../session/call-history.js';
import { unconnected } from '../session/end-reason.js';
import type { SessionReport } from '../session/session-report.js';
import type { CallChannel, CallStore, StoredCall } from '../store/calls.js';
import type { CallFiles } from './call-files.js';
import { goesOn } from './call-filter.js';
import { type MultiplierOf, priced } from './pricing.js';

/** What is known of a call when it begins. */
export interface CallBeginning {
  sessionId: string;
  /** Default none. */
  callId?: string;
  channel: CallChannel;
  /** Default `inbound`. */
  direction?: 'inbound' | 'outbound';
  agentId: string | null;
  agentConfig: AgentConfig;
  /** Default none. */
  campaignId?: string;
  metadata?: Readonly<Record<string, unknown>>;
  /** The two ends of a phone call. */
  phones?: { readonly from: string; readonly to: string };
  /** Default `in-progress`. */
  status?: string;
}

export interface CallLogOptions {
  store: CallStore;
  /** Default: recordings are kept by their full paths, and none is looked for. */
  files?: CallFiles;
  /** Default: nothing costs anything. */
  prices?: Prices;
  /** Default 1. */
  multiplierOf?: MultiplierOf;
  /** Where the recording of a call opens without a key, for those who are sent its item. Default: they get none. */
  recordingUrl?: (sessionId: string) => string;
  /** Told of each change of a call: it has begun, its status is another, it has ended. */
  onChange?: (call: StoredCall) => void;
  /** Does a change and what `onChange` writes all or not at all. Default: it just does both. */
  atomically?: <T>(work: () => T) => T;
}

/** Why calls have ended that went on when the daemon stopped without ending them. */
const ORPHANED = 'The daemon stopped while the call went on. Its log tells why.';

/** Writes every call down, from before it rings until after it has ended. */
export class CallLog implements CallHistory {
  readonly #options: CallLogOptions;
  readonly #store: CallStore;
  readonly #onChange: (call: StoredCall) => void;
  readonly #atomically: <T>(work: () => T) => T;

  constructor(options: CallLogOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#onChange = options.onChange ?? (() => undefined);
    this.#atomically = options.atomically ?? ((work) => work());
  }

  begin(call: CallBeginning): StoredCall {
    return this.#atomically(() => this.#begin(call));
  }

  #begin(call: CallBeginning): StoredCall {
    const { direction = 'inbound', status = 'in-progress', phones = null, callId = null, campaignId = null } = call;
    const optOut = call.agentConfig.privacy_settings?.opt_out_data_collection === true;
    const begun = this.#store.add({
      ...{ sessionId: call.sessionId, callId, channel: call.channel, direction, agentId: call.agentId, campaignId },
      ...{ fromPhone: phones?.from ?? null, toPhone: phones?.to ?? null, status },
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
        metadata: optOut ? {} : (call.metadata ?? {}),
        function_calls: [],
        call_status: status,
        campaign_id: campaignId,
        error_message: null,
        call_metrics: NO_METRICS,
        carrier_call_log: null,
      },
    });
    this.#onChange(begun);
    return begun;
  }

  /** A call that was registered has come: who calls, and whom. */
  came(sessionId: string, phones: { readonly from: string; readonly to: string }): void {
    this.#store.setPhones(sessionId, phones);
  }

  status(sessionId: string, status: string): void {
    this.#atomically(() => {
      const call = this.#store.setStatus(sessionId, status) ? this.#store.get(sessionId) : null;
      if (call !== null) this.#onChange(call);
    });
  }

  /** What the engine has of a session that is over. Returns what those who want it are sent. */
  keep(item: CallHistoryItem, report: SessionReport): CallHistoryItem {
    const { recordingUrl } = this.#options;
    const kept = this.#end(item, report.recording) ?? item;
    if (recordingUrl === undefined || report.recording === null) return kept;
    return { ...kept, recording: { recording_url: recordingUrl(item.session_id) } };
  }

  /**
   * Ends a call that had no session.
   * @param reason why, for people; null = its status says it
   * @param carrier the carrier's account of it
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

  /** Sees to it that a phone call ends in the log, also where no session could be made for it. */
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

  /**
   * Ends the calls that an earlier process left open, with what it had recorded of them. Returns them. One whose line had
   * ended already keeps its status.
   */
  closeOrphans(): StoredCall[] {
    const orphans = this.#store.open();
    for (const { sessionId, item } of orphans) {
      const { call_status: status } = item;
      const known = { ...item, error_message: unconnected({ status, error: null, carrier: null }) };
      const left = goesOn(status) ? { ...item, call_status: 'error', error_message: ORPHANED } : known;
      this.#end(left, this.#options.files?.leftBehind(sessionId) ?? null);
    }
    return orphans;
  }

  #end(item: CallHistoryItem, recording: string | null): CallHistoryItem | null {
    const { prices = {}, multiplierOf = () => 1, files } = this.#options;
    const costs = { ...item, cost_breakdown: priced(item, prices, multiplierOf) };
    const kept = files === undefined ? recording : files.kept(recording);
    const ended = this.#atomically(() => {
      const call = this.#store.end(item.session_id, costs, kept);
      if (call !== null) this.#onChange(call);
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
