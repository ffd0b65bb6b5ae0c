import type { Clock } from '../../../base/clock.js';

/** Delays between the attempts. */
const TRIES_AFTER_MS: readonly number[] = [0, 1_000, 4_000, 15_000];

/**
 * Retries until it succeeds or has failed too often: a call that continues at the carrier costs money. Never rejects.
 *
 * @param isNeedless checked before each attempt
 * @param onGivenUp called with the last failure
 */
export async function retryUntilDone(
  clock: Clock,
  attempt: () => Promise<void>,
  isNeedless: () => boolean,
  onGivenUp: (error: unknown) => void,
): Promise<void> {
  let last: unknown;
  for (const waitMs of TRIES_AFTER_MS) {
    if (waitMs > 0) await new Promise<void>((resolve) => clock.schedule(clock.nowMs() + waitMs, resolve));
    if (isNeedless()) return;
    try {
      await attempt();
      return;
    } catch (error) {
      last = error;
    }
  }
  onGivenUp(last);
}
