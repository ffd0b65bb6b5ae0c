import { expect, test } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { warmUpWebRtc } from '../../../src/transports/webrtc/warm-up.js';
import { udpSockets } from './udp.js';

test('warming up connects, and leaves no socket behind', async () => {
  await warmUpWebRtc(new RealClock());
  await expect.poll(udpSockets).toBe(0);
});
