import type { Clock } from '../base/clock.js';

/** The outcome of `work`, whose signal is aborted after `ms`. Rejects then, also where the work does not react. */
export async function withDeadline<T>(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const cancel = clock.schedule(clock.nowMs() + ms, () => {
    abort.abort(new Error(`it took longer than ${String(ms / 1000)} s`));
  });
  const { signal } = abort;
  const expired = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([work(signal), expired]);
  } finally {
    cancel();
  }
}
