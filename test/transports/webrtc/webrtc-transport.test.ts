import { describe, expect, it, test } from 'vitest';
import type { OpusEncoderOptions } from '../../../src/audio/codecs/opus.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { type ContractLine, transportContract } from '../../../src/testing/contracts/transport-contract.js';
import { PcmReader, pcmBytes } from '../../../src/transports/pcm.js';
import type { TransportSink } from '../../../src/transports/transport.js';
import { WebRtcTransport } from '../../../src/transports/webrtc/webrtc-transport.js';
import { FarEnd, PLAIN } from './far-end.js';

function lineOf(): { clock: VirtualClock; far: FarEnd; transport: WebRtcTransport } {
  const clock = new VirtualClock();
  const far = new FarEnd();
  return { clock, far, transport: new WebRtcTransport({ peer: far, opus: PLAIN, clock }) };
}

async function contractLine(): Promise<ContractLine> {
  const { far, transport } = lineOf();
  return {
    transport,
    heard: () => Int16Array.from(far.packets.flatMap(({ payload }) => [...new PcmReader().read(payload)])),
    hangUp: () => far.hangUp(),
    settle: () => new Promise((resolve) => setImmediate(resolve)),
    dispose: () => transport.close(),
    sendAudio: (samples) => far.speak(pcmBytes(samples)),
    sendDigits: (digits) => far.press(digits),
    sendText: (data) => far.say({ method: 'text', data }),
  };
}

describe('the contract of transports', async () => {
  for (const { name, run } of await transportContract(contractLine)) it(name, run);
});

class Ear implements TransportSink {
  readonly samples: number[] = [];
  closedBy: Error | undefined | null = null;
  audio(samples: Int16Array): void {
    this.samples.push(...samples);
  }
  digits(): void {}
  text(): void {}
  formResult(): void {}
  closed(error?: Error): void {
    this.closedBy = error;
  }
}

const LOUD = new Int16Array(480).fill(8_000);

test('silence is sent for a moment after speech, then nothing; what comes next is marked, and in time', () => {
  const { far, transport } = lineOf();
  transport.start(new Ear());
  transport.play(null);
  transport.play(LOUD);
  for (let n = 0; n < 50; n++) transport.play(null);
  transport.play(LOUD);
  expect(far.packets.length).toBe(1 + 12 + 1);
  expect(far.packets.map(({ marker }) => marker).filter(Boolean).length).toBe(2);
  expect((far.packets.at(-1)?.ticks ?? 0) - (far.packets[0]?.ticks ?? 0)).toBe(51 * 960);
});

test('a lost packet is recovered from the one behind it, once it is late', async () => {
  const { clock, far, transport } = lineOf();
  const ear = new Ear();
  transport.start(ear);
  const packet = (value: number): Buffer => pcmBytes(new Int16Array(320).fill(value));
  for (let n = 0; n < 5; n++) {
    far.speak(n === 2 ? null : packet(n + 1));
    await clock.advanceBy(20);
    transport.play(null);
  }
  await clock.advanceBy(40);
  transport.play(null);
  const heard = [0, 1, 2, 3, 4].map((n) => ear.samples[n * 320 + 5]);
  expect(heard).toEqual([1, 2, -4, 4, 5]);
  expect(transport.stats).toMatchObject({ received: 4, lost: 1, late: 0, undecodable: 0 });
});

test('a sender that falls silent is heard as silence while time passes', async () => {
  const { clock, far, transport } = lineOf();
  const ear = new Ear();
  transport.start(ear);
  far.speak(pcmBytes(new Int16Array(320).fill(9)));
  for (let n = 0; n < 50; n++) {
    await clock.advanceBy(20);
    transport.play(null);
  }
  expect(ear.samples.length).toBeGreaterThan(800 * 16);
  expect(ear.samples.slice(320).every((sample) => sample === 0)).toBe(true);
});

test('who was there and is gone has hung up', () => {
  const { far, transport } = lineOf();
  const ear = new Ear();
  transport.start(ear);
  far.connect();
  far.hangUp('nothing came any more');
  expect(ear.closedBy).toBeUndefined();
});

test('a line that never came about says why, one that is closed does not', async () => {
  const [broken, closed] = [lineOf(), lineOf()];
  const ears = [new Ear(), new Ear()] as const;
  broken.transport.start(ears[0]);
  closed.transport.start(ears[1]);
  broken.far.hangUp('no connection came about');
  await closed.transport.close();
  expect(ears[0].closedBy).toMatchObject({ code: 'LINE_LOST' });
  expect(ears[1].closedBy).toBeUndefined();
  await expect(broken.transport.connected).rejects.toMatchObject({ code: 'LINE_LOST' });
});

test('it is connected when the other side can hear', async () => {
  const { far, transport } = lineOf();
  far.connect();
  await transport.connected;
  expect(far.timesClosed).toBe(0);
});

test('what was sent last has time to arrive before the line is closed', async () => {
  const { clock, far, transport } = lineOf();
  const ear = new Ear();
  transport.start(ear);
  far.connect();
  transport.send({ type: 'ended', status: 'agent-ended' });
  const closed = transport.close();
  await clock.advanceBy(250);
  expect([far.timesClosed, ear.closedBy]).toEqual([0, null]);
  await clock.advanceBy(50);
  await closed;
  await transport.close();
  expect([far.timesClosed, ear.closedBy]).toEqual([1, undefined]);
});

test('a peer that is gone is not waited for', async () => {
  const { far, transport } = lineOf();
  far.connect();
  far.hangUp();
  await transport.close();
  expect(far.timesClosed).toBe(1);
});

test('a client that does not read is cut off, and so is one that talks nonsense', () => {
  const [slow, silly] = [lineOf(), lineOf()];
  const ears = [new Ear(), new Ear()] as const;
  slow.transport.start(ears[0]);
  silly.transport.start(ears[1]);
  slow.far.bufferedBytes = 600_000;
  slow.transport.send({ type: 'answering' });
  expect(ears[0].closedBy).toMatchObject({ code: 'TALK_CLIENT_TOO_SLOW' });
  for (let n = 0; n < 100; n++) silly.far.say('{');
  expect(ears[1].closedBy).toMatchObject({ code: 'TALK_TOO_MANY_BAD_MESSAGES' });
  expect(silly.transport.stats.badMessages).toBe(100);
});

test('another offer on the data channel is answered there, one that cannot be is refused in words', async () => {
  const { far } = lineOf();
  const sdp = [
    'v=0',
    'm=audio 9 UDP/TLS/RTP/SAVPF 111',
    'a=rtpmap:111 opus/48000/2',
    'a=ice-ufrag:a',
    'a=ice-pwd:b',
    'a=fingerprint:c',
  ].join('\n');
  far.say({ method: 'offer', payload: { type: 'offer', sdp } });
  far.say({ method: 'offer', payload: { type: 'offer', sdp: 'v=0' } });
  far.say({ method: 'offer', payload: {} });
  await expect.poll(() => far.messages.length).toBe(3);
  const answer = { method: 'answer', payload: { type: 'answer', sdp: `answer to ${String(sdp.length)}` } };
  expect(far.messages).toContainEqual(answer);
  expect(far.messages.filter(({ method }) => method === 'onerror')).toHaveLength(2);
});

test('the loss that the other side reports is what the encoder is ready for', () => {
  const far = new FarEnd();
  const expected: number[] = [];
  const opus = {
    ...PLAIN,
    encoder: (options: OpusEncoderOptions) => ({
      ...PLAIN.encoder(options),
      expectLoss: (share: number) => void expected.push(share),
    }),
  };
  const transport = new WebRtcTransport({ peer: far, opus, clock: new VirtualClock() });
  expect(transport.lineStats()).toMatchObject({ sent: 0, reportedLoss: null });
  far.report(0.3);
  far.hangUp();
  far.report(0.3);
  expect(expected).toEqual([0.2]);
  expect(transport.lineStats()).toMatchObject({ received: 0, lost: 0, reportedLoss: 0.3 });
});
