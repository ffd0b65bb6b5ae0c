import type { Clock } from '../../../base/clock.js';

/** What has to happen in the end is tried again after so long each time. */
const TRIES_AFTER_MS: readonly number[] = [0, 1_000, 4_000, 15_000];

/**
 * Tries until it succeeds, or has failed too often: a call that goes on at the carrier costs money. Never rejects.
 *
 * @param isNeedless asked before each try
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
