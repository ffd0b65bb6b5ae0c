import type { CallEndStatus } from '../../telephony/calls/call-status.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { AgentExtensions } from '../../agent/extensions/extensions.js';
import type { SessionContinuation } from '../../agent/continuation.js';
import type { ErrorCode } from '../../base/errors.js';
import type { VersionPin } from '../../store/agents.js';
import type { Transaction } from '../../store/sql/statement.js';

/** A request to place a call. */
export interface DialRequest {
  /** One of the daemon's numbers, E.164. */
  from: string;
  /** E.164. */
  to: string;
  /** Default: the agent of `from`. */
  agentId?: string | null | undefined;
  /** Default: the version of the number, if the agent is the number's, or else the published one or the split's. */
  agentVersion?: VersionPin | null | undefined;
  /** Overrides fields of the agent's and the number's configuration. Without an agent it is the whole configuration. */
  agentConfig?: AgentConfig | null | undefined;
  /** Overrides the agent's extensions. Default none. */
  agentExtensions?: AgentExtensions | null | undefined;
  metadata?: Readonly<Record<string, unknown>>;
  /** Default false. */
  includeMetadataInPrompt?: boolean;
  /** Default: a new conversation. */
  continuation?: SessionContinuation | null | undefined;
  campaignId?: string | null | undefined;
  /** Default and maximum: the operator's `calls.ringS`. */
  ringTimeoutMs?: number;
  /** A repeated request with this key does not dial again. */
  idempotency?: Idempotency | null | undefined;
  /**
   * The campaign's record that gets the call. The transaction that reserves the call and writes its row also begins the
   * record. If the record may not be called any more, the call is refused with `RecordChanged`.
   */
  record?: CampaignRecordRef | null | undefined;
}

/** A record of a campaign. */
export interface CampaignRecordRef {
  seq: number;
}

/** Begins records in the transaction that places their calls. */
export interface RecordStarts {
  /**
   * Marks a record as being called by a session.
   * @param unixMs of the database's clock
   * @returns false if it may not be called any more: then nothing is stored
   */
  begin(seq: number, sessionId: string, unixMs: number): Transaction<boolean>;
}

/** The record of a call may not be called any more: the campaign has been paused, or another node has taken it. */
export class RecordChanged extends Error {
  constructor() {
    super('the record may not be called any more');
  }
}

/** Identifies a repeated request. */
export interface Idempotency {
  /** The id of the client's API key. Each client has its own idempotency keys. */
  client: string;
  key: string;
  /** Hash of the whole request. */
  fingerprint: string;
}

export interface CallIds {
  callId: string;
  sessionId: string;
}

/** A call that is reserved and in the log. It continues without its caller. */
export interface DialledCall extends CallIds {
  /** How it ended. Never rejects. */
  readonly finished: Promise<DialEnd>;
}

export interface DialEnd {
  status: CallEndStatus;
  /** Why it failed, in a sentence; null = it did not. */
  error: string | null;
}

/** Temporary refusals. The error's `retryAfterS` says when a retry makes sense. */
export const PACE_LIMITS: ReadonlySet<ErrorCode> = new Set([
  'LIMIT_CONCURRENT_CALLS',
  'LIMIT_CALLS_PER_MINUTE',
  'LIMIT_DESTINATION_PER_MINUTE',
  'LIMIT_DESTINATION_PER_DAY',
  'LIMIT_MINUTES_PER_DAY',
  'SESSIONS_FULL',
]);
