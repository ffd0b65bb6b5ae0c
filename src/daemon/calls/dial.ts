import type { CallEndStatus } from '../../telephony/calls/call-status.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { AgentExtensions } from '../../agent/extensions/extensions.js';
import type { SessionContinuation } from '../../agent/continuation.js';
import type { ErrorCode } from '../../base/errors.js';

/** A request to place a call. */
export interface DialRequest {
  /** One of our numbers, E.164. */
  from: string;
  /** E.164. */
  to: string;
  /** Default: the agent of `from`. */
  agentId?: string | null | undefined;
  /** Takes the place of the agent's and the number's own fields, one by one; the whole agent where there is no other. */
  agentConfig?: AgentConfig | null | undefined;
  /** Takes the place of the agent's extensions, one by one. Default none. */
  agentExtensions?: AgentExtensions | null | undefined;
  metadata?: Readonly<Record<string, unknown>>;
  /** Default false. */
  includeMetadataInPrompt?: boolean;
  /** Default: nothing that it goes on from. */
  continuation?: SessionContinuation | null | undefined;
  campaignId?: string | null | undefined;
  /** Default the operator's `calls.ringS`, which is also the most. */
  ringTimeoutMs?: number;
  /** A request that was taken before under this key is not dialled again. */
  idempotency?: Idempotency | null | undefined;
  /**
   * Runs in the transaction that reserves the call and writes its row: what it writes is there exactly if the call is.
   * It must not wait for anything. What it throws refuses the call.
   */
  onReserved?: (ids: CallIds) => void;
}

/** Tells a repeated request from another one. */
export interface Idempotency {
  /** Whose key it is: keys of different clients do not meet. */
  client: string;
  key: string;
  /** Of everything that was asked for. */
  fingerprint: string;
}

export interface CallIds {
  callId: string;
  sessionId: string;
}

/** A call that is reserved and in the log; it proceeds by itself. */
export interface DialledCall extends CallIds {
  /** How it ended. Never rejects. */
  readonly finished: Promise<DialEnd>;
}

export interface DialEnd {
  status: CallEndStatus;
  /** Why it went wrong, in words; null where it did not. */
  error: string | null;
}

/** Refusals that pass by themselves: the error's `retryAfterS` says when trying again is worth it. */
export const PACE_LIMITS: ReadonlySet<ErrorCode> = new Set([
  'LIMIT_CONCURRENT_CALLS',
  'LIMIT_CALLS_PER_MINUTE',
  'LIMIT_DESTINATION_PER_MINUTE',
  'LIMIT_DESTINATION_PER_DAY',
  'LIMIT_MINUTES_PER_DAY',
  'SESSIONS_FULL',
]);
