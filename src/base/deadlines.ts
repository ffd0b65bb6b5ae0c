import type { Cancel, Clock } from './clock.js';
import { reasonOf } from './errors.js';

/** How long a transport or a provider may take to close. */
const CLOSE_TIMEOUT_MS = 5000;

/** The outcome of `work`. Rejects with the signal's reason when that is aborted first; the work goes on. */
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
 * The pieces of a stream. Throws the signal's reason as soon as that is aborted, also where the source does not react.
 * The source's iterator is then asked to return, without waiting for it.
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
 * A signal that is aborted after `ms`, or with `outer` and its reason.
 * @returns with `cancel`, which the caller always calls at the end
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
 * The outcome of `work`. Its signal is aborted after `ms`, or with `outer`; the promise rejects at the same moment,
 * also where the work does not react.
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

/** The outcome of `work`; undefined when it takes longer than `ms`. The work goes on. */
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
 * Closes a part that may be foreign code: waits for at most 5 s, and never throws.
 * @param onFault it failed, or took too long
 */
export async function closeInTime(
  clock: Clock,
  close: () => Promise<void>,
  onFault: (reason: string) => void,
): Promise<void> {
  try {
    const closing = close();
    // Closing takes real time: virtual time may stand still by now, so it sets no deadline.
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
