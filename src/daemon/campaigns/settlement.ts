import type { CampaignSchedule } from '../../settings/campaign-schedule.js';

/**
 * Why a number gets another call. `failed`: the network or the other party refused the call. `error`: the call failed on
 * our side.
 */
export type RetryReason = 'busy' | 'noAnswer' | 'voicemail' | 'failed' | 'error';

/** The number of calls, and of repeated calls by reason. */
export interface Tried {
  /** Calls so far, including the one that has ended. */
  attempts: number;
  retried: Readonly<Partial<Record<RetryReason, number>>>;
}

/** The state of a record after a call. */
export type Settlement =
  | { status: 'finished'; reason: string | null }
  | { status: 'failed'; reason: string }
  /** Another call follows. */
  | { status: 'started'; dueMs: number; retried: Tried['retried']; reason: string };

const WAITS = {
  busy: 'retryBusyS',
  noAnswer: 'retryNoAnswerS',
  voicemail: 'retryVoicemailS',
  failed: 'retryFailedS',
  error: 'retryErrorS',
} as const satisfies Record<RetryReason, keyof CampaignSchedule>;

/**
 * @param callStatus how the call ended
 * @param error a sentence about the failure; null = the status says it
 * @param nowMs milliseconds since 1970, as `dueMs`
 */
export function settle(
  tried: Tried,
  { callStatus, error }: { callStatus: string; error: string | null },
  schedule: CampaignSchedule,
  nowMs: number,
): Settlement {
  const reason = error === null ? callStatus : `${callStatus}: ${error}`;
  if (callStatus === 'canceled') return { status: 'failed', reason };
  const why = retryReason(callStatus);
  if (why === null) return { status: 'finished', reason: null };
  const times = tried.retried[why] ?? 0;
  const waitS = schedule[WAITS[why]][times];
  if (waitS !== undefined && tried.attempts < schedule.maxAttempts) {
    return { status: 'started', dueMs: nowMs + waitS * 1000, retried: { ...tried.retried, [why]: times + 1 }, reason };
  }
  // The agent's voicemail settings have handled the mailbox, so the record is finished.
  return why === 'voicemail' ? { status: 'finished', reason } : { status: 'failed', reason };
}

function retryReason(callStatus: string): RetryReason | null {
  switch (callStatus) {
    case 'busy':
    case 'failed':
    case 'error':
      return callStatus;
    case 'no-answer':
      return 'noAnswer';
    case 'voicemail-hangup':
      return 'voicemail';
    default:
      return null;
  }
}
