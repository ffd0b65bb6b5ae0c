import type { Cancel, Clock } from '../base/clock.js';

/**
 * A signal that aborts after `ms`, or with `outer` and its reason.
 * @returns the signal and `cancel`, which must always be called
 */
export function abortAfter(clock: Clock, ms: number, outer: AbortSignal): { signal: AbortSignal; cancel: Cancel } {
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(outer.reason);
  const cancelTimer = clock.schedule(clock.nowMs() + ms, () => {
    abort.abort(new Error(`it took longer than ${String(ms / 1000)} s`));
  });
  outer.addEventListener('abort', onAbort, { once: true });
  if (outer.aborted) onAbort();
  return {
    signal: abort.signal,
    cancel: () => {
      cancelTimer();
      outer.removeEventListener('abort', onAbort);
    },
  };
}
