import type { CampaignSchedule } from '../../config/campaign-schedule.js';

/**
 * What a number is called again for: `failed` is what the network or the other side refused, `error` what broke off on
 * our side.
 */
export type RetryReason = 'busy' | 'noAnswer' | 'voicemail' | 'failed' | 'error';

/** How often a number has been called, and called again for each reason. */
export interface Tried {
  /** Calls placed, the one that is over included. */
  attempts: number;
  retried: Readonly<Partial<Record<RetryReason, number>>>;
}

/** What comes of a record when a call to it is over. */
export type Settlement =
  | { status: 'finished'; reason: string | null }
  | { status: 'failed'; reason: string }
  /** It is called again. */
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
 * @param error what went wrong, in words for people; null = the status says all
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
  // A mailbox that was reached is what the agent's voicemail settings made of it.
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
