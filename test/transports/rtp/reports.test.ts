import { expect, it } from 'vitest';
import { isRtcp } from '../../../src/transports/rtp/packet.js';
import { opened, speak } from './spoken.js';

it.each([true, false])(
  'reports go where both agreed, and are understood there: one port for all %s',
  async (isMuxed) => {
    const ends = await opened();
    const { caller, callee, network } = ends;
    if (!isMuxed) {
      const alone = (sdp: string): string => sdp.replace('a=rtcp-mux\r\n', '');
      caller.accept(alone(callee.answer(alone(caller.offer()))));
    }
    const [ours, theirs] = [caller, callee].map(({ agreement }) => agreement?.remote);
    network.sent.length = 0;
    await speak(ends, 16_000);
    const reports = network.sent.filter(({ datagram }) => isRtcp(datagram));
    const to = new Set(reports.map((report) => report.to));
    const [near, far] = [theirs, ours].map((place) => `${place?.address ?? ''}:${String(place?.rtcpPort)}`);
    expect(to).toEqual(new Set([near, far]));
    expect((ours?.rtcpPort ?? 0) - (ours?.port ?? 0)).toBe(isMuxed ? 0 : 1);
    for (const end of [caller, callee]) expect(end.stats().roundTripMs).not.toBeNull();
  },
);
