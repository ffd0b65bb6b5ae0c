import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { loadOpus } from '../../../src/audio/codecs/opus.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { RealClock } from '../../../src/base/real-clock.js';
import { packageFile } from '../../../src/package-files.js';
import { EmbeddedStt } from '../../../src/providers/stt/embedded/provider.js';
import { wordErrorRate } from '../../../src/testing/labels/wer.js';
import type { TransportSink } from '../../../src/transports/transport.js';
import { WebRtcTransport } from '../../../src/transports/webrtc/webrtc-transport.js';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';
import { WeriftPeer } from '../../../src/transports/webrtc/werift-peer.js';
import { Listener } from '../../providers/stt/embedded/support.js';
import { BadNetwork } from './bad-network.js';

const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const FIXTURE = 'fixtures/audio/booking/slt/table';
const FRAME = 320;
const closes: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close();
});

/** Hears the line, and tells when there is so much of it. */
class Ear implements TransportSink {
  readonly samples: number[] = [];
  onMore: () => void = () => undefined;
  audio(samples: Int16Array): void {
    for (const sample of samples) this.samples.push(sample);
    this.onMore();
  }
  digits(): void {}
  text(): void {}
  formResult(): void {}
  closed(): void {}
}

test('5 % loss and 100 ms jitter stay intelligible, and are measured', { timeout: 60_000 }, async () => {
  const [opus, clock, network] = [await loadOpus(), new RealClock(), new BadNetwork(7, new RealClock())];
  const [peer, caller, ear] = [new WeriftPeer(LOOPBACK, clock), new WeriftCaller(LOOPBACK), new Ear()];
  const transport = new WebRtcTransport({ peer, opus, clock });
  const encoder = opus.encoder({ sampleRateHz: 16_000, dtx: false });
  closes.push(
    () => network.close(),
    () => encoder.close(),
    () => transport.close(),
    () => caller.close(),
  );
  const answer = await peer.answer(await network.before(await caller.offer()));
  await caller.accept(await network.before(answer));
  await caller.connected;
  await transport.connected;
  network.become({ loss: 0.05, jitterMs: 100 });

  transport.start(ear);
  const { samples } = decodeWav(readFileSync(packageFile(`${FIXTURE}.wav`)));
  const silence = new Int16Array(FRAME);
  const frames = Math.floor(samples.length / FRAME);
  // A moment of silence before, in which the buffer learns the line; and one behind, in which the last packets come.
  const [before, behind] = [50, 25];
  await new Promise<void>((resolve) => {
    const beganMs = clock.nowMs();
    let n = 0;
    const tick = (): void => {
      const at = (n - before) * FRAME;
      const isSpeech = n >= before && n < before + frames;
      caller.sendAudio(encoder.encode(isSpeech ? samples.slice(at, at + FRAME) : silence), n * 960);
      transport.play(null);
      n++;
      if (n < before + frames + behind) clock.schedule(beganMs + n * 20, tick);
      else resolve();
    };
    tick();
  });

  const line = transport.lineStats();
  expect(network.dropped).toBeGreaterThan(10);
  expect(line.received).toBeGreaterThan(frames * 0.9);
  expect(line.lost / (before + frames + behind)).toBeGreaterThan(0.02);
  expect(line.lost / (before + frames + behind)).toBeLessThan(0.15);
  expect(line.reordered).toBeGreaterThan(50);
  expect(line.patienceMs).toBeGreaterThan(80);
  expect(line.jitterMs).toBeGreaterThan(15);

  const said = (JSON.parse(readFileSync(packageFile(`${FIXTURE}.json`), 'utf8')) as { text: string }).text;
  const heard = await wordsIn(Int16Array.from(ear.samples), said);
  expect(ear.samples.length / FRAME).toBeGreaterThan(before + frames);
  expect(wordErrorRate([[said, heard]])).toBeLessThan(0.2);
});

/** What the embedded recogniser understands, which knows words of bookings. */
async function wordsIn(samples: Int16Array, text: string): Promise<string> {
  const stt = new EmbeddedStt();
  try {
    const listener = await new Listener().open(stt, { phrases: [text], texts: [], keywords: new Map() });
    await listener.speech(samples);
    await listener.settle();
    await listener.stream.close();
    return listener.finals.map((final) => final.text).join(' ');
  } finally {
    await stt.close();
  }
}
