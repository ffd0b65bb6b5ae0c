import type { TalkInitiate } from '../../transports/talk-protocol.js';
import { type TalkCall, CallError } from './call.js';
import type { SpokenMessage } from './transcript.js';

/** Waits before the attempts; the last one is repeated. */
const WAITS_MS = [300, 700, 1500, 3000, 6000];

/**
 * Tries until an attempt succeeds: soon at first, then every few seconds, and at once when the browser says that it is
 * online again. Resolves with null when the time is up or `signal` is aborted.
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

export type Continuation = NonNullable<TalkInitiate['data']['session_continuation']>;

/** A line that broke is given up after this. */
const RECONNECT_MS = 120_000;

export interface Lost {
  /** The session that the lost line had. */
  sessionId: string;
  /** What has been said in it, for a server that does not know the session any more. */
  messages: readonly SpokenMessage[];
}

/**
 * Gets a lost call back: another call that goes on from its session. Null = it cannot be had, or `signal` was aborted.
 * @param connect makes a call that is ready, or rejects
 */
export function reconnect(
  lost: Lost,
  connect: (continuation: Continuation) => Promise<TalkCall | null>,
  signal: AbortSignal,
): Promise<TalkCall | null> {
  return retry(() => onceMore(lost, connect), RECONNECT_MS, signal);
}

/** One attempt of it: by the session or, where the server does not know that any more, by what was said in it. */
export async function onceMore<T>(
  { sessionId, messages }: Lost,
  connect: (continuation: Continuation) => Promise<T>,
): Promise<T> {
  try {
    return await connect({ session_id: sessionId, resume: true });
  } catch (error) {
    // A server that was killed may have lost the session.
    if (!(error instanceof CallError) || !error.end.isRefused) throw error;
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
