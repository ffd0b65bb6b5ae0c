/** How a talk socket closed. */
export interface Closing {
  /** False = it never opened. */
  opened: boolean;
  /** RFC 6455, 7.4. */
  code: number;
  /** The server's; empty where there is none. */
  reason: string;
}

/** The server's close code for what may go well later: all sessions are in use. */
const TRY_AGAIN_LATER = 1013;

const ENDINGS: Readonly<Record<string, string>> = {
  'agent-ended': 'The agent hung up',
  'user-ended': 'Call ended',
  'api-ended': 'The call was ended by the server',
  timeout: 'The call reached its time limit',
  error: 'The call ended because something failed',
};

/** How a call ended, in words, by its status; null = the line broke before there was one. */
export function endingWords(status: string | null): string {
  return status === null ? 'The call was cut off' : (ENDINGS[status] ?? `Call ended: ${status}`);
}

/**
 * Why there is no call, or none any more, as a sentence.
 * @param problem the server's last `onerror`
 */
export function closingWords({ opened, code, reason }: Closing, problem: string | null): string {
  if (!opened) return 'The server did not open a line: it is busy, or something on the way to it blocks WebSockets.';
  if (code === TRY_AGAIN_LATER) return 'All lines are busy. Try again in a moment.';
  const words = problem ?? reason;
  return words === '' ? 'The connection to the server was lost.' : words;
}
