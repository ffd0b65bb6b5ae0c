/** What every detector must do, and how well Silero and WebRTC tell voices from other sounds. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, it } from 'vitest';
import { workerFile } from '../../../src/package-files.js';
import type { VadDetector, VadProvider } from '../../../src/providers/vad/vad.js';
import { SileroVad } from '../../../src/providers/vad/silero.js';
import { SILERO_KERNELS, sileroKernel } from '../../../src/providers/vad/silero-kernel.js';
import { WebRtcVad } from '../../../src/providers/vad/webrtc.js';
import { join, noise, pieces, silence, tone, voice } from './signals.js';

const PROVIDERS: [string, VadProvider][] = [
  ['webrtc', new WebRtcVad()],
  ...SILERO_KERNELS.filter((kernel) => sileroKernel(kernel) !== null).map((kernel): [string, VadProvider] => [
    `silero (${kernel})`,
    new SileroVad({ kernel }),
  ]),
];

const UTTERANCE = join(silence(320), voice(1504, 210), silence(640));

describe.each(PROVIDERS)('%s', (_, provider) => {
  beforeAll(() => provider.warmUp());

  it('speaks for every whole window, with its end', () => {
    const detector = provider.createDetector();
    const ends: number[] = [];
    detector.process(silence(1001), (probability, end) => {
      expect(probability).toBeGreaterThanOrEqual(0);
      expect(probability).toBeLessThanOrEqual(1);
      ends.push(end);
    });
    const { windowSamples } = detector;
    expect(ends).toEqual(Array.from({ length: Math.floor(16_016 / windowSamples) }, (_, i) => (i + 1) * windowSamples));
    detector.close();
  });

  it('gives the same in pieces of any length, none among them', () => {
    const whole = probabilities(provider.createDetector(), [UTTERANCE]);
    for (const seed of [1, 2, 3]) {
      expect(probabilities(provider.createDetector(), pieces(UTTERANCE, seed))).toEqual(whole);
    }
    const oneByOne = Array.from(UTTERANCE.subarray(0, 8000), (sample) => Int16Array.of(sample));
    const some = probabilities(provider.createDetector(), oneByOne);
    expect(some).toEqual(whole.slice(0, some.length));
  });

  it('hears a voice and not the silence before and after it', () => {
    const detector = provider.createDetector();
    const heard = probabilities(detector, [UTTERANCE]);
    const at = (ms: number): number => heard[Math.floor((ms * 16) / detector.windowSamples)]!;
    expect(at(200)).toBeLessThan(0.1);
    expect(at(1500)).toBeGreaterThan(0.7);
    expect(heard.at(-1)).toBeLessThan(0.1);
  });

  it('does not take silence for speech', () => {
    expect(Math.max(...probabilities(provider.createDetector(), [silence(2000)]))).toBeLessThan(0.1);
  });

  it('starts anew after reset', () => {
    const detector = provider.createDetector();
    const first = probabilities(detector, [UTTERANCE, silence(7)]);
    detector.reset();
    const ends: number[] = [];
    const again: number[] = [];
    detector.process(UTTERANCE, (probability, end) => {
      again.push(probability);
      ends.push(end);
    });
    expect(again).toEqual(first.slice(0, again.length));
    expect(ends[0]).toBe(detector.windowSamples);
  });

  it('keeps detectors apart', () => {
    const alone = probabilities(provider.createDetector(), [UTTERANCE]);
    const [one, other] = [provider.createDetector(), provider.createDetector()];
    const together: number[] = [];
    const loud = noise(2464, 20_000);
    for (let at = 0; at < UTTERANCE.length; at += 320) {
      one.process(UTTERANCE.subarray(at, at + 320), (probability) => together.push(probability));
      other.process(loud.subarray(at, at + 320), () => undefined);
    }
    expect(together).toEqual(alone);
  });

  it('is silent once closed, and may be closed twice', () => {
    const detector = provider.createDetector();
    detector.close();
    detector.close();
    detector.reset();
    expect(probabilities(detector, [UTTERANCE])).toEqual([]);
  });

  it('may be closed by its own listener', () => {
    const detector = provider.createDetector();
    let calls = 0;
    detector.process(UTTERANCE, () => {
      calls++;
      detector.close();
    });
    expect(calls).toBe(1);
  });

  it('may be warmed up twice', async () => {
    await provider.warmUp();
    await provider.warmUp();
  });
});

describe('Silero', () => {
  it.each([
    ['loud noise', noise(3000, 12_000)],
    ['faint noise', noise(3000, 100)],
    ['a low tone', tone(3000, 100)],
    ['a dialling tone', tone(3000, 425)],
    ['a beep', join(silence(500), tone(800, 1400, 20_000), silence(500))],
    ['clicks', Int16Array.from({ length: 48_000 }, (_, i) => (i % 4000 === 0 ? 30_000 : 0))],
    ['a steady offset', new Int16Array(48_000).fill(9000)],
  ])('does not take %s for speech', (_, sound) => {
    expect(Math.max(...probabilities(new SileroVad().createDetector(), [sound]))).toBeLessThan(0.3);
  });
});

describe('WebRTC VAD', () => {
  it('says clearly that its package is missing', async () => {
    const provider = new WebRtcVad(() => {
      throw new Error('Cannot find module');
    });
    const missing: unknown = expect.objectContaining({
      code: 'PROVIDER_FAILED',
      message: expect.stringContaining('webrtcvad is not installed') as unknown,
    });
    await expect(provider.warmUp()).rejects.toEqual(missing);
    expect(() => provider.createDetector()).toThrow(missing);
  });

  it('needs two windows of speech for a probability of 0.5', () => {
    class Always {
      process(): boolean {
        return true;
      }
    }
    const detector = new WebRtcVad(() => ({ default: Always })).createDetector();
    expect(probabilities(detector, [silence(60)])).toEqual([0.4, 0.64, expect.closeTo(0.784)]);
  });

  it('refuses to run off the main thread, where its package would crash', async () => {
    const code = `
      import(${JSON.stringify(workerFile('providers/vad/webrtc').href)})
        .then(({ WebRtcVad }) => new WebRtcVad().warmUp())
        .then(() => 'it ran', (error) => error.message)
        .then((message) => require('node:worker_threads').parentPort.postMessage(message));`;
    const worker = new Worker(code, { eval: true });
    const [message] = (await once(worker, 'message')) as [string];
    await worker.terminate();
    expect(message).toContain('main thread only');
  });
});

function probabilities(detector: VadDetector, sound: Iterable<Int16Array>): number[] {
  const all: number[] = [];
  for (const piece of sound) detector.process(piece, (probability) => all.push(probability));
  return all;
}
