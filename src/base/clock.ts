/**
 * Time as an input. Everything that waits takes a Clock, so the same code runs in real time (RealClock) and in virtual
 * time (VirtualClock), where a minute of conversation takes milliseconds and gives the same results bit for bit.
 */
export interface Clock {
  /** Whether time jumps from one scheduled instant to the next. */
  readonly virtual: boolean;

  /** Milliseconds since this clock's start, monotonic, with fractions. */
  nowMs(): number;

  /** Calls `fn` once at `atMs`, or soon if `atMs` has passed, but never synchronously. Returns its cancel. */
  schedule(atMs: number, fn: () => void): Cancel;

  /**
   * Settles with the outcome of real work, such as a worker thread's reply. A real clock settles when the work does
   * and ignores `atMs`. A virtual clock settles exactly at `atMs` and does not advance beyond that instant before the
   * work has settled, so the real duration of the work has no influence on results.
   */
  settle<T>(work: Promise<T>, atMs: number): Promise<T>;
}

/** Cancels a schedule or a subscription. May be called twice. */
export type Cancel = () => void;

/** Resolves after `ms` on `clock`; rejects with the signal's reason if the signal aborts first. */
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
