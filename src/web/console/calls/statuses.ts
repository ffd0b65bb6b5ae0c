/** How a call stands or ended. */
export interface StatusWords {
  group: 'running' | 'done' | 'failed' | 'other';
  /** Why it ended, in a sentence; while it goes on, how far it is. */
  why: string;
}

const STATUSES: Readonly<Record<string, StatusWords>> = {
  registered: { group: 'running', why: 'It is registered and waits for its client.' },
  queued: { group: 'running', why: 'It waits to be placed.' },
  dispatching: { group: 'running', why: 'Its agent is being checked.' },
  initiated: { group: 'running', why: 'The carrier has it.' },
  ringing: { group: 'running', why: 'It rings.' },
  'in-progress': { group: 'running', why: 'They are talking.' },
  'user-ended': { group: 'done', why: 'The user hung up, or closed the page.' },
  'agent-ended': { group: 'done', why: 'The agent said goodbye and hung up, or handed the call on.' },
  'api-ended': { group: 'done', why: 'It was ended over the API, by the kill switch, or by a daemon that shut down.' },
  'voicemail-hangup': { group: 'done', why: 'A machine answered, and the agent hung up.' },
  'voicemail-message': { group: 'done', why: 'A machine answered, and has the agent’s message.' },
  timeout: { group: 'done', why: 'It reached the longest time that the agent allows: max_duration or max_idle.' },
  busy: { group: 'failed', why: 'The line was busy.' },
  'no-answer': { group: 'failed', why: 'Nobody answered while it rang.' },
  failed: { group: 'failed', why: 'It was not connected.' },
  error: { group: 'failed', why: 'It was connected and broke off.' },
  canceled: { group: 'other', why: 'It was given up before anybody answered.' },
  chat_completion: { group: 'other', why: 'A chat in writing that its client has finished.' },
};

export const STATUS_NAMES: readonly string[] = Object.keys(STATUSES);

export function statusWords(status: string): StatusWords {
  return STATUSES[status] ?? { group: 'other', why: status };
}

/** Whether nobody was ever on the line. */
export function wasNeverConnected(status: string): boolean {
  return ['busy', 'no-answer', 'failed', 'canceled'].includes(status);
}
