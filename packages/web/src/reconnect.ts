import { CallError } from './errors.js';
import type { Continuation } from './line.js';
import type { SpokenMessage } from './transcript.js';

/** Delays before the attempts; the last one repeats. */
const WAITS_MS = [300, 700, 1500, 3000, 6000];

/**
 * Retries until it succeeds: quickly at first, then every few seconds, and at once when the browser is online again.
 * Resolves with null after the deadline or when `signal` is aborted.
 */
export async function retry<T>(
  attempt: () => Promise<T | null>,
  forMs: number,
  signal: AbortSignal,
): Promise<T | null> {
  const endMs = performance.now() + forMs;
  for (let at = 0; performance.now() < endMs; at++) {
    await pause(WAITS_MS[Math.min(at, WAITS_MS.length - 1)] ?? 0, signal);
    if (signal.aborted) return null;
    const result = await attempt().catch(() => null);
    if (result !== null) return result;
  }
  return null;
}

/** Deadline for reconnecting. */
export const RECONNECT_MS = 120_000;

/** A point from which another call can go on. */
export interface ResumePoint {
  /** The session of the lost line. */
  sessionId: string;
  /** Its messages, for a server that no longer knows the session. */
  messages: readonly SpokenMessage[];
}

/**
 * One attempt to go on: with the session or, if the server does not know it any more, with its messages.
 * @param connect makes a session that is ready, or rejects
 */
export async function resume<T>(
  { sessionId, messages }: ResumePoint,
  connect: (continuation: Continuation) => Promise<T>,
): Promise<T> {
  try {
    return await connect({ session_id: sessionId, resume: true });
  } catch (error) {
    // A server that was killed may have lost the session.
    if (!(error instanceof CallError) || error.code !== 'refused') throw error;
    return connect({ messages: messages.map((one) => ({ ...one })), resume: messages.length > 0 });
  }
}

/** Resolves after a time, when the browser is online again, or when aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener('online', done);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
