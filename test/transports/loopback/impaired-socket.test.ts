import { expect, it } from 'vitest';
import { Random } from '../../../src/base/random.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { impairedSocket } from '../../../src/transports/loopback/impaired-socket.js';
import type { DatagramSocket, OnDatagram } from '../../../src/transports/rtp/socket.js';

const COUNT = 1000;

async function sent(impairment: { loss: number; delayMs: number; jitterMs: number }) {
  const clock = new VirtualClock();
  const [there, back]: { byte: number; atMs: number }[][] = [[], []];
  let arrive: OnDatagram = () => undefined;
  const inner: DatagramSocket = {
    port: 1,
    send: (datagram) => there?.push({ byte: datagram[0] ?? -1, atMs: clock.nowMs() }),
    listen: (onDatagram) => (arrive = onDatagram),
    close: () => Promise.resolve(),
  };
  const socket = impairedSocket(inner, impairment, clock, new Random(1));
  socket.listen((datagram) => back?.push({ byte: datagram[0] ?? -1, atMs: clock.nowMs() }));
  const datagram = new Uint8Array(1);
  for (let count = 0; count < COUNT; count++) {
    datagram[0] = count & 0xff;
    socket.send(datagram, '', 2);
    arrive(datagram, '', 2);
  }
  await clock.advanceBy(1000);
  return { there: there ?? [], back: back ?? [], clock, socket, arrive, datagram };
}

it('loses the given share in both directions', async () => {
  const { there, back } = await sent({ loss: 0.1, delayMs: 0, jitterMs: 0 });
  for (const { length } of [there, back]) {
    expect(length).toBeGreaterThan(COUNT * 0.87);
    expect(length).toBeLessThan(COUNT * 0.93);
  }
});

it('delays datagrams, which may be overwritten meanwhile, and lets some overtake others', async () => {
  const { there } = await sent({ loss: 0, delayMs: 20, jitterMs: 30 });
  expect(there).toHaveLength(COUNT);
  const times = there.map(({ atMs }) => atMs);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(20);
  expect(Math.max(...times)).toBeLessThanOrEqual(51);
  expect(new Set(there.map(({ byte }) => byte)).size).toBe(256);
  expect(there.some(({ byte }, at) => byte !== (at & 0xff))).toBe(true);
});

it('delivers nothing after it is closed', async () => {
  const { clock, socket, there, datagram } = await sent({ loss: 0, delayMs: 20, jitterMs: 0 });
  socket.send(datagram, '', 2);
  await socket.close();
  await clock.advanceBy(100);
  expect(there).toHaveLength(COUNT);
});
