import type { Clock } from '../base/clock.js';

/** The outcome of work that is not waited for longer than `ms`. Rejects with an Error that says so. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  let cancel = (): void => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    cancel = clock.schedule(clock.nowMs() + ms, () => reject(new Error(`it took longer than ${String(ms)} ms`)));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
