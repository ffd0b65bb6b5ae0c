import type { AgentCall } from '../calls/agent-call.js';
import type { AgentConfig } from '../config/agent.js';
import type { CallHistory } from '../engine/options.js';
import type { CallHistoryItem } from '../session/call-history.js';
import type { SessionReport } from '../session/session-report.js';
import type { CallChannel, CallStore, StoredCall } from '../store/calls.js';

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
  /** Told of each change of a call: it has begun, its status is another, it has ended. */
  onChange?: (call: StoredCall) => void;
}

/** Why calls have ended that went on when the daemon stopped without ending them. */
const ORPHANED = 'the daemon stopped while the call went on';

/** Writes every call down, from before it rings until after it has ended. */
export class CallLog implements CallHistory {
  readonly #store: CallStore;
  readonly #onChange: (call: StoredCall) => void;

  constructor({ store, onChange = () => undefined }: CallLogOptions) {
    this.#store = store;
    this.#onChange = onChange;
  }

  begin(call: CallBeginning): StoredCall {
    const { direction = 'inbound', status = 'in-progress', phones = null, callId = null, campaignId = null } = call;
    const begun = this.#store.add({
      ...{ sessionId: call.sessionId, callId, channel: call.channel, direction, agentId: call.agentId, campaignId },
      ...{ fromPhone: phones?.from ?? null, toPhone: phones?.to ?? null, status },
      item: {
        agent_id: call.agentId,
        agent_config: call.agentConfig,
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
    this.#onChange(begun);
    return begun;
  }

  status(sessionId: string, status: string): void {
    if (!this.#store.setStatus(sessionId, status)) return;
    const call = this.#store.get(sessionId);
    if (call !== null) this.#onChange(call);
  }

  /** What the engine has of a session that is over. */
  keep(item: CallHistoryItem, report: SessionReport): CallHistoryItem {
    return this.#end(item, report.recording) ?? item;
  }

  /** Ends a call that had no session. */
  fail(sessionId: string, status: string, reason: string | null): void {
    const call = this.#store.get(sessionId);
    if (call !== null) this.#end({ ...call.item, call_status: status, error_message: reason }, null);
  }

  /** Sees to it that a phone call ends in the log, also where no session could be made for it. */
  async follow(call: AgentCall): Promise<void> {
    const hasSession = await call.session.then(
      () => true,
      () => false,
    );
    const { status, error } = await call.finished;
    if (!hasSession) this.fail(call.sessionId, status, error);
  }

  /** Ends the calls that an earlier process left open. Returns them. */
  closeOrphans(): StoredCall[] {
    const orphans = this.#store.open();
    for (const { sessionId } of orphans) this.fail(sessionId, 'error', ORPHANED);
    return orphans;
  }

  #end(item: CallHistoryItem, recording: string | null): CallHistoryItem | null {
    const ended = this.#store.end(item.session_id, item, recording);
    if (ended === null) return null;
    this.#onChange(ended);
    return ended.item;
  }
}

const NO_METRICS: CallHistoryItem['call_metrics'] = {
  utterance_latency: null,
  end_of_turn: null,
  llm_first: null,
  first_sentence: null,
  tts_first: null,
  turns: 0,
};
