import type { CallHistoryItem } from '../../session/record/call-history.js';

/** The words for a call's status. */
export interface StatusWords {
  /** In a word or two. */
  label: string;
  group: 'running' | 'done' | 'failed' | 'other';
  /** Why it ended, or how far it is. */
  why: string;
}

const STATUSES: Readonly<Record<string, StatusWords>> = {
  registered: { label: 'registered', group: 'running', why: 'It is registered and waits for its client.' },
  queued: { label: 'queued', group: 'running', why: 'It waits to be placed.' },
  dispatching: { label: 'being prepared', group: 'running', why: 'Its agent is being checked.' },
  initiated: { label: 'being placed', group: 'running', why: 'The carrier has it.' },
  ringing: { label: 'ringing', group: 'running', why: 'It rings.' },
  'in-progress': { label: 'in progress', group: 'running', why: 'They are talking.' },
  'user-ended': { label: 'user hung up', group: 'done', why: 'The user hung up, or closed the page.' },
  'agent-ended': {
    label: 'agent hung up',
    group: 'done',
    why: 'The agent said goodbye and hung up.',
  },
  'api-ended': {
    label: 'ended by the operator',
    group: 'done',
    why: 'It was ended from the console or the API, or the daemon shut down.',
  },
  'voicemail-hangup': { label: 'voicemail, hung up', group: 'done', why: 'A machine answered, and the agent hung up.' },
  'voicemail-message': {
    label: 'voicemail, message left',
    group: 'done',
    why: 'A machine answered, and the agent left its message.',
  },
  timeout: {
    label: 'time limit',
    group: 'done',
    why: 'It reached a limit of the agent: max_duration or max_idle.',
  },
  busy: { label: 'busy', group: 'failed', why: 'The line was busy.' },
  'no-answer': { label: 'no answer', group: 'failed', why: 'Nobody answered while it rang.' },
  failed: { label: 'not connected', group: 'failed', why: 'It was not connected.' },
  error: { label: 'broke off', group: 'failed', why: 'It was connected and broke off.' },
  canceled: { label: 'canceled', group: 'other', why: 'It was cancelled before the answer.' },
  chat_completion: { label: 'chat completed', group: 'other', why: 'A text chat that its client has finished.' },
};

export const STATUS_NAMES: readonly string[] = Object.keys(STATUSES);

/** The words for a call of the log: a call that was handed on has ended by that. */
export function endWords({ call_status: status, voip }: Pick<CallHistoryItem, 'call_status' | 'voip'>): StatusWords {
  const words = statusWords(status);
  const to = status === 'agent-ended' ? transferredTo(voip) : null;
  if (to === null) return words;
  return { ...words, label: `transferred to ${to}`, why: `The agent handed the call on to ${to}.` };
}

/** Where the last transfer of a call went; null = it failed, or there was none. */
function transferredTo(voip: CallHistoryItem['voip']): string | null {
  const { ok, to } = (voip?.['transfer'] ?? {}) as { ok?: unknown; to?: unknown };
  return ok === true && typeof to === 'string' ? to : null;
}

export function statusWords(status: string): StatusWords {
  return STATUSES[status] ?? { label: status, group: 'other', why: status };
}

/** Whether the call was never answered. */
export function wasNeverConnected(status: string): boolean {
  return ['busy', 'no-answer', 'failed', 'canceled'].includes(status);
}
