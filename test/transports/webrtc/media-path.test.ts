import { RTCRtpReceiver, RTCRtpSender, type RtcpPacket, RtcpRrPacket } from 'werift';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { MediaPacket } from '../../../src/audio/jitter-buffer.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';
import { WeriftPeer } from '../../../src/transports/webrtc/werift-peer.js';

/** The other end is werift's own: what it can open, and what it hears of its packets, is the proof. */
const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const PATIENCE = { timeout: 10_000, interval: 20 };
const PACKETS = 20;

const sorted = vi.spyOn(RTCRtpReceiver.prototype as unknown as { handleRTP: () => void }, 'handleRTP');
const reported = vi.spyOn(RTCRtpSender.prototype, 'handleRtcpPacket');
let peer: WeriftPeer;
let caller: WeriftCaller;
let heard: MediaPacket[];
let losses: number[];

beforeEach(async () => {
  [peer, caller, heard, losses] = [new WeriftPeer(LOOPBACK, new VirtualClock()), new WeriftCaller(LOOPBACK), [], []];
  const nothing = (): void => undefined;
  let onConnected = nothing;
  const connected = new Promise<void>((resolve) => (onConnected = resolve));
  peer.listen({
    connected: onConnected,
    digit: nothing,
    message: nothing,
    closed: nothing,
    audio: (packet) => void heard.push(packet),
    loss: (share) => void losses.push(share),
  });
  await caller.accept(await peer.answer(await caller.offer()));
  await Promise.all([caller.connected, connected]);
  sorted.mockClear();
  reported.mockClear();
});

afterEach(() => Promise.all([peer.close(), caller.close()]));

test('all packets of a source are heard in their order, and werift sorts the first one alone', async () => {
  for (let n = 0; n < PACKETS; n++) caller.sendAudio(Uint8Array.of(n, 1, 2), n * 960);
  await expect.poll(() => heard.length, PATIENCE).toBe(PACKETS);
  expect(heard.map(({ payload }) => payload[0])).toEqual(Array.from({ length: PACKETS }, (_, n) => n));
  expect(heard.map(({ timestamp }) => timestamp)).toEqual(Array.from({ length: PACKETS }, (_, n) => n * 960));
  expect(sorted).toHaveBeenCalledOnce();
});

test('the other end opens what is sent, with its numbers, and reports what it has lost of it', async () => {
  const packets: { payload: Uint8Array; sequence: number; timestamp: number }[] = [];
  caller.onAudio = (packet) => void packets.push(packet);
  for (let n = 0; n < PACKETS; n++) peer.sendAudio(Uint8Array.of(n), 5_000 + n * 960, n === 0);
  await expect.poll(() => packets.length, PATIENCE).toBe(PACKETS);
  expect(packets.map(({ payload }) => payload[0])).toEqual(Array.from({ length: PACKETS }, (_, n) => n));
  expect(packets.at(-1)).toMatchObject({ sequence: PACKETS - 1, timestamp: 5_000 + (PACKETS - 1) * 960 });
  await expect.poll(() => losses.length, PATIENCE).toBeGreaterThan(0);
  expect(losses[0]).toBe(0);
});

test('the other end gets a report of how many of its packets have arrived', async () => {
  for (let n = 0; n < PACKETS; n++) caller.sendAudio(Uint8Array.of(n), n * 960);
  await expect.poll(() => heard.length, PATIENCE).toBe(PACKETS);
  const reports = (): RtcpRrPacket['reports'] =>
    reported.mock.calls
      .map(([packet]: [RtcpPacket]) => packet)
      .flatMap((packet) => (packet instanceof RtcpRrPacket ? packet.reports : []));
  await expect.poll(() => reports().length, PATIENCE).toBeGreaterThan(0);
  expect(reports().at(-1)).toMatchObject({ highestSequence: PACKETS - 1, packetsLost: 0, fractionLost: 0 });
});
