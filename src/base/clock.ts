/**
 * Time as an input. Everything that waits takes a Clock, so that the same code runs live (RealClock) and in
 * virtual time (VirtualClock), where a minute of conversation takes milliseconds and decides alike to the bit.
 */
export interface Clock {
  /** True where time jumps from one scheduled instant to the next. */
  readonly virtual: boolean;

  /** Milliseconds since this clock's start, monotonic, with fractions. */
  nowMs(): number;

  /** Calls `fn` once at `atMs` (at once, but never synchronously, where that has passed). Returns its cancel. */
  schedule(atMs: number, fn: () => void): Cancel;

  /**
   * Hands on the outcome of real work (a worker thread's reply, say). A real clock passes it on when it settles
   * and ignores `atMs`. A virtual clock passes it on at `atMs` exactly, and does not let time go beyond that
   * instant before the work has settled: so the work's real duration has no influence on what is decided.
   */
  settle<T>(work: Promise<T>, atMs: number): Promise<T>;
}

/** Undoes a schedule or a subscription. May be called twice. */
export type Cancel = () => void;

/** Resolves after `ms` on `clock`; rejects with the signal's reason if it is aborted first. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const cancel = clock.schedule(clock.nowMs() + ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
