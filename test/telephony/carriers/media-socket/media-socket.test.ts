import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { mediaSocketOf } from '../../../../src/telephony/carriers/media-socket/media-socket.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';

/** A socket of a server on loopback, on a clock of its own, and its far end. */
async function openPair(autoPong: boolean) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const far = new WebSocket(`ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`, { autoPong });
  const [[near]] = (await Promise.all([once(server, 'connection'), once(far, 'open')])) as [[WebSocket], unknown];
  const clock = new VirtualClock();
  let closed = 0;
  mediaSocketOf(near, clock).listen({ onText: () => undefined, onClosed: () => closed++ });
  const close = async (): Promise<void> => {
    far.terminate();
    server.close();
    await once(server, 'close');
  };
  return { near, far, clock, closed: () => closed, close };
}

it('closes where nothing is heard of the far end, not even the answer to a ping', async () => {
  const { near, far, clock, closed, close } = await openPair(false);
  const asked = once(far, 'ping');
  await clock.advanceBy(10_000);
  await asked;
  expect(closed()).toBe(0);
  const gone = once(near, 'close');
  await clock.advanceBy(10_000);
  await gone;
  expect(closed()).toBe(1);
  await close();
});

it('stays open as long as the far end answers pings, or sends anything', async () => {
  for (const autoPong of [true, false]) {
    const { near, far, clock, closed, close } = await openPair(autoPong);
    for (let times = 0; times < 5; times++) {
      const heard = once(near, autoPong ? 'pong' : 'message');
      await clock.advanceBy(10_000);
      if (!autoPong) far.send('{}');
      await heard;
    }
    expect([closed(), near.readyState]).toEqual([0, WebSocket.OPEN]);
    await close();
  }
});
