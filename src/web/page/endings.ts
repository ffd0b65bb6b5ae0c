/** How a talk socket closed. */
export interface Closing {
  /** False = it never opened. */
  opened: boolean;
  /** RFC 6455, 7.4. */
  code: number;
  /** The server's; empty where there is none. */
  reason: string;
}

/** The close code where the line broke: nobody has closed it (RFC 6455, 7.4.1). */
export const NO_CLOSE = 1006;
/** The server does not want what it was asked for: asking again does not help. */
const REFUSED = 1008;
/** The server has closed the line on purpose: normally, for what the client sent, for a fault of its own. */
const ON_PURPOSE: ReadonlySet<number> = new Set([1000, 1002, 1003, 1007, REFUSED, 1009, 1011, 1013]);

/** The server's close code for what may go well later: all sessions are in use. */
const TRY_AGAIN_LATER = 1013;

const ENDINGS: Readonly<Record<string, string>> = {
  'agent-ended': 'The agent hung up',
  'user-ended': 'Call ended',
  'api-ended': 'The call was ended by the server',
  timeout: 'The call reached its time limit',
  error: 'The call ended because something failed',
};

/**
 * How a call ended, in words, by its status; null = the line broke before there was one.
 * @param limit of a timeout: which limit was reached
 */
export function endingWords(status: string | null, limit: 'idle' | 'duration' | null = null): string {
  if (status === 'timeout' && limit === 'idle') return 'The call ended because nobody spoke';
  return status === null ? 'The call was cut off' : (ENDINGS[status] ?? `Call ended: ${status}`);
}

/** Whether a line broke that was good: calling again may help. */
export function isLost({ opened, code }: Closing): boolean {
  return opened && !ON_PURPOSE.has(code);
}

export function isRefused({ code }: Closing): boolean {
  return code === REFUSED;
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
