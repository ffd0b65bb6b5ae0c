import type { Cancel, Clock } from './clock.js';
import { reasonOf } from './errors.js';

/** How long a transport or a provider may take to close. */
const CLOSE_TIMEOUT_MS = 5000;

/** Settles with the outcome of `work`, or rejects with the signal's reason if it aborts first. The work continues. */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', onAbort);
    });
  });
}

/**
 * Iterates a stream until the signal aborts, then throws its reason, even if the source ignores the signal. Calls the
 * source's `return` without waiting for it.
 */
export async function* untilAborted<T>(
  pieces: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  signal.throwIfAborted();
  const iterator = pieces[Symbol.asyncIterator]();
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  aborted.catch(() => undefined);
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/**
 * A signal that aborts after `ms`, or when `outer` does and with its reason.
 * @returns also `cancel`, which the caller must call at the end
 */
export function abortAfter(clock: Clock, ms: number, outer?: AbortSignal): { signal: AbortSignal; cancel: Cancel } {
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(outer?.reason);
  const cancelTimer = clock.schedule(clock.nowMs() + ms, () => {
    abort.abort(new Error(`it took longer than ${duration(ms)}`));
  });
  outer?.addEventListener('abort', onAbort, { once: true });
  if (outer?.aborted === true) onAbort();
  return {
    signal: abort.signal,
    cancel: () => {
      cancelTimer();
      outer?.removeEventListener('abort', onAbort);
    },
  };
}

/**
 * Settles with the outcome of `work`. After `ms`, or when `outer` aborts, it aborts the signal of `work` and rejects,
 * even if the work ignores the signal.
 */
export async function withTimeout<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const { signal, cancel } = abortAfter(clock, ms, outer);
  try {
    return await raceAbort(work(signal), signal);
  } finally {
    cancel();
  }
}

/** Settles with the outcome of `work`, or resolves with undefined after `ms`. The work continues. */
export async function waitAtMost<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  let cancel: Cancel = () => undefined;
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.schedule(clock.nowMs() + ms, () => {
      resolve(undefined);
    });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}

/**
 * Closes a part that may be an embedder's code: waits at most 5 s and never throws.
 * @param onFault called if closing fails or takes too long
 */
export async function closeInTime(
  clock: Clock,
  close: () => Promise<void>,
  onFault: (reason: string) => void,
): Promise<void> {
  try {
    const closing = close();
    // Closing takes real time, while virtual time may stand still; so there is no deadline in virtual time.
    if (clock.virtual) await closing;
    else if (
      (await waitAtMost(
        clock,
        CLOSE_TIMEOUT_MS,
        closing.then(() => true),
      )) === undefined
    ) {
      onFault(`still not closed after ${String(CLOSE_TIMEOUT_MS)} ms`);
    }
  } catch (error) {
    onFault(reasonOf(error));
  }
}

function duration(ms: number): string {
  return ms < 1000 ? `${String(ms)} ms` : `${String(ms / 1000)} s`;
}
