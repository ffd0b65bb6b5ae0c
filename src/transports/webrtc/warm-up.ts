import type { Clock } from '../../base/clock.js';
import { WeriftCaller } from './werift-caller.js';
import { WeriftPeer } from './werift-peer.js';

const ON_LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };

/**
 * Connects two peers of this process and closes them, so that the first call does not wait for the shared certificate
 * and for code that has never run.
 */
export async function warmUpWebRtc(clock: Clock): Promise<void> {
  const [peer, caller] = [new WeriftPeer(ON_LOOPBACK, clock), new WeriftCaller(ON_LOOPBACK)];
  try {
    // If they cannot connect, the warm-up is given up.
    const over = new Promise<void>((resolve) => {
      const nothing = (): void => undefined;
      const rest = { connected: nothing, audio: nothing, digit: nothing, message: nothing, loss: nothing };
      peer.listen({ ...rest, closed: () => resolve() });
    });
    await caller.accept(await peer.answer(await caller.offer()));
    await Promise.race([caller.connected, over]);
  } finally {
    await Promise.all([peer.close(), caller.close()]);
  }
}
