import { createSocket } from 'node:dgram';
import dns from 'node:dns/promises';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import type { MediaPacket } from '../../../src/audio/jitter-buffer.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { assertNothingLeft, runningResources } from '../../../src/testing/leaks.js';
import type { PeerListener } from '../../../src/transports/webrtc/peer.js';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';
import { WeriftPeer } from '../../../src/transports/webrtc/werift-peer.js';
import { bindingRequest } from './stun.js';
import { udpSockets } from './udp.js';

const lookup = vi.spyOn(dns, 'lookup');
syncBuiltinESMExports();

const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const PATIENCE = { timeout: 15_000, interval: 20 };
const closes: (() => Promise<void>)[] = [];
/** werift waits for up to 1.5 s for another try of a report that it could not send, also when it has been closed meanwhile. */
const WERIFT_MS = 5_000;
const before = runningResources();

afterAll(() => assertNothingLeft(before, { graceMs: WERIFT_MS }));

afterEach(async () => {
  await Promise.all(closes.splice(0).map((close) => close()));
  await expect.poll(udpSockets, PATIENCE).toBe(0);
});

class Ear implements PeerListener {
  readonly packets: MediaPacket[] = [];
  readonly digits: string[] = [];
  readonly messages: string[] = [];
  readonly losses: number[] = [];
  readonly ends: string[] = [];
  connections = 0;
  connected = (): void => void this.connections++;
  audio = (packet: MediaPacket): void => void this.packets.push(packet);
  digit = (digit: string): void => void this.digits.push(digit);
  message = (text: string): void => void this.messages.push(text);
  loss = (share: number): void => void this.losses.push(share);
  closed = (reason: string): void => void this.ends.push(reason);
}

interface Line {
  peer: WeriftPeer;
  caller: WeriftCaller;
  ear: Ear;
  /** What its deadlines and looks go by; the network has the real time. */
  clock: VirtualClock;
}

/** @param change of what is offered */
async function connected(change = (sdp: string): string => sdp): Promise<Line> {
  const clock = new VirtualClock();
  const [peer, caller, ear] = [new WeriftPeer(LOOPBACK, clock), new WeriftCaller(LOOPBACK), new Ear()];
  closes.push(
    () => peer.close(),
    () => caller.close(),
  );
  peer.listen(ear);
  await caller.accept(await peer.answer(change(await caller.offer())));
  await caller.connected;
  await expect.poll(() => ear.connections, PATIENCE).toBe(1);
  return { peer, caller, ear, clock };
}

/** A packet each way. */
async function bothWays({ peer, caller, ear }: Line, ticks: number): Promise<void> {
  const before = ear.packets.length;
  const heard = new Promise((resolve) => (caller.onAudio = resolve));
  await expect
    .poll(() => {
      caller.sendAudio(Uint8Array.of(1, 2, 3), (ticks += 960));
      peer.sendAudio(Uint8Array.of(4, 5, 6), ticks, false);
      return ear.packets.length;
    }, PATIENCE)
    .toBeGreaterThan(before);
  await heard;
}

test('who does not name their source in the offer is heard', async () => {
  const line = await connected((sdp) => sdp.replace(/^a=ssrc:.*\r\n/gm, ''));
  await bothWays(line, 0);
});

test('audio and messages go both ways, reports come, and no STUN server is asked', async () => {
  const line = await connected();
  await bothWays(line, 0);
  const heard = new Promise((resolve) => (line.caller.onMessage = resolve));
  line.peer.send('to you');
  line.caller.send('to me');
  expect(await heard).toBe('to you');
  await expect.poll(() => line.ear.messages, PATIENCE).toEqual(['to me']);
  await expect.poll(() => line.ear.losses.length, PATIENCE).toBeGreaterThan(0);
  expect(line.ear.losses[0]).toBe(0);
  expect(lookup).not.toHaveBeenCalled();
});

test('after an ICE restart it goes on, over new ways', async () => {
  const line = await connected();
  await bothWays(line, 0);
  const answer = await line.peer.answer(await line.caller.offer(true));
  await line.caller.accept(answer);
  await bothWays(line, 48_000);
  line.caller.send('still there');
  await expect.poll(() => line.ear.messages, PATIENCE).toEqual(['still there']);
  expect(line.ear.ends).toEqual([]);
});

test('during an ICE restart what was sent is heard: it takes the old way until there is a new one', async () => {
  const line = await connected();
  await bothWays(line, 0);
  const answer = await line.peer.answer(await line.caller.offer(true));
  const heard = new Promise((resolve) => (line.caller.onAudio = resolve));
  line.peer.sendAudio(Uint8Array.of(7), 96_000, false);
  await heard;
  await line.caller.accept(answer);
  await bothWays(line, 144_000);
});

test('checks with credentials of two rounds make no way', async () => {
  const { peer, caller } = await connected();
  const socket = createSocket('udp4');
  closes.push(async () => void socket.close());
  const first = await peer.answer(await caller.offer(true));
  await caller.accept(first);
  const offer = await caller.offer(true);
  const second = await peer.answer(offer);
  await caller.accept(second);
  const port = Number(/^a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+)/m.exec(second)?.[1]);
  const ufrag = (sdp: string): string => /^a=ice-ufrag:(\S+)/m.exec(sdp)?.[1] ?? '';
  const password = (sdp: string): string => /^a=ice-pwd:(\S+)/m.exec(sdp)?.[1] ?? '';
  const answered = once(socket, 'message') as Promise<[Buffer]>;
  socket.send(bindingRequest(`${ufrag(first)}:${ufrag(offer)}`, 1, password(first)), port, '127.0.0.1');
  socket.send(bindingRequest(`${ufrag(second)}:${ufrag(offer)}`, 2, password(second)), port, '127.0.0.1');
  const [[response]] = [await answered];
  expect(response.readUInt32BE(16)).toBe(2);
});

test("another connection's offer does not get into this one", async () => {
  const line = await connected();
  const other = new WeriftCaller(LOOPBACK);
  closes.push(() => other.close());
  const foreign = (await other.offer()).replace(/a=fingerprint:\S+ \S+/g, 'a=fingerprint:sha-256 00:11');
  await expect(line.peer.answer(foreign)).rejects.toMatchObject({ code: 'OFFER_INVALID' });
  await bothWays(line, 0);
});

test('one that vanishes is noticed, and frees its sockets', async () => {
  const line = await connected();
  await line.caller.close();
  await line.clock.advanceBy(10_000);
  expect(line.ear.ends).toEqual([]);
  await line.clock.advanceBy(4_000);
  expect(line.ear.ends).toEqual(['nothing came any more']);
  await expect.poll(udpSockets, PATIENCE).toBe(0);
});

test('where all ports of the range are in use, the offer is refused in those words', async () => {
  const [taken, next, caller] = [createSocket('udp4'), createSocket('udp4'), new WeriftCaller(LOOPBACK)];
  closes.push(
    async () => void taken.close(),
    async () => void next.close(),
    () => caller.close(),
  );
  taken.bind(0);
  await once(taken, 'listening');
  const { port } = taken.address();
  next.on('error', () => undefined); // somebody has it: as good
  next.bind(port + 1);
  await new Promise((resolve) => next.once('listening', resolve).once('error', resolve));
  const peer = new WeriftPeer({ ...LOOPBACK, portRange: [port, port + 1] }, new VirtualClock());
  closes.push(() => peer.close());
  await expect(peer.answer(await caller.offer())).rejects.toMatchObject({ code: 'RTP_PORTS_FULL' });
});

test('one that never comes is given up', async () => {
  const clock = new VirtualClock();
  const [peer, caller, ear] = [new WeriftPeer(LOOPBACK, clock), new WeriftCaller(LOOPBACK), new Ear()];
  peer.listen(ear);
  await peer.answer(await caller.offer());
  await caller.close();
  await clock.advanceBy(15_000);
  expect(ear.ends).toEqual(['no connection came about']);
  await expect(peer.answer('')).rejects.toMatchObject({ code: 'OFFER_INVALID' });
});
