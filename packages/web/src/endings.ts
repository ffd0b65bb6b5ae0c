/** How a talk socket closed. */
export interface Closing {
  /** False = it was never open. */
  opened: boolean;
  /** RFC 6455, 7.4. */
  code: number;
  /** The server's; empty = none. */
  reason: string;
}

/** The close code of a broken line, without a close frame (RFC 6455, 7.4.1). */
export const NO_CLOSE = 1006;
/** The server refuses the request: retrying does not help. */
const REFUSED = 1008;
/** The server closed the line deliberately: normally, because of the client's messages, or after an internal error. */
const ON_PURPOSE: ReadonlySet<number> = new Set([1000, 1002, 1003, 1007, REFUSED, 1009, 1011, 1013]);

/** The server's close code for a temporary failure: all sessions are in use. */
const TRY_AGAIN_LATER = 1013;

const ENDINGS: Readonly<Record<string, string>> = {
  'agent-ended': 'The agent hung up',
  'user-ended': 'Call ended',
  'api-ended': 'The call was ended by the server',
  timeout: 'The call reached its time limit',
  error: 'The call ended because something failed',
};

/**
 * The end of a call in words, by its status; null = the line broke before.
 * @param limit for a timeout: the limit that was reached
 */
export function endingWords(status: string | null, limit: 'idle' | 'duration' | null = null): string {
  if (status === 'timeout' && limit === 'idle') return 'The call ended because nobody spoke';
  return status === null ? 'The call was cut off' : (ENDINGS[status] ?? `Call ended: ${status}`);
}

/** Whether a working line broke: calling again may help. */
export function isLost({ opened, code }: Closing): boolean {
  return opened && !ON_PURPOSE.has(code);
}

/** The server has no room now. */
export function isBusy({ code }: Closing): boolean {
  return code === TRY_AGAIN_LATER;
}

export function isRefused({ code }: Closing): boolean {
  return code === REFUSED;
}

/** Why no agent has come from a queue, as a sentence. @param left how the call has left it */
export function leftWords(left: string): string {
  return left === 'closed' ? 'Nobody takes calls at this time.' : 'All lines are busy. Try again in a moment.';
}

/**
 * Why there is no call (any more), as a sentence.
 * @param problem the server's last `onerror`
 */
export function closingWords({ opened, code, reason }: Closing, problem: string | null): string {
  if (!opened) return 'The server did not open a line: it is busy, or something on the way to it blocks WebSockets.';
  if (code === TRY_AGAIN_LATER) return 'All lines are busy. Try again in a moment.';
  const words = problem ?? reason;
  return words === '' ? 'The connection to the server was lost.' : words;
}
