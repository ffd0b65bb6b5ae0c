import type { Cancel, Clock } from '../base/clock.js';
import { reasonOf } from '../base/errors.js';

/** How long a transport or a provider may take to let go of its resources. */
export const CLOSE_TIMEOUT_MS = 5000;

/**
 * Closes something that somebody else wrote: waits until it is done, but not for ever, and never throws.
 * @param onFault it was not done in good order
 */
export async function closeInTime(
  clock: Clock,
  close: () => Promise<void>,
  onFault: (reason: string) => void,
): Promise<void> {
  let cancel: Cancel = () => undefined;
  try {
    const closing = close();
    // Closing is the machine's own business: virtual time, which may stand still by now, says nothing about it.
    if (clock.virtual) await closing;
    else {
      const expired = new Promise<never>((_resolve, reject) => {
        cancel = clock.schedule(clock.nowMs() + CLOSE_TIMEOUT_MS, () => {
          reject(new Error(`still not closed after ${String(CLOSE_TIMEOUT_MS)} ms`));
        });
      });
      await Promise.race([closing, expired]);
    }
  } catch (error) {
    onFault(reasonOf(error));
  } finally {
    cancel();
  }
}
