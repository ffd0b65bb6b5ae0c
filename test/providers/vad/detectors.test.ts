/** What every detector must do, and how well Silero and WebRTC tell voices from other sounds. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, it } from 'vitest';
import { resample } from '../../../src/audio/dsp/resample.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { packageFile, workerFile } from '../../../src/package-files.js';
import type { VadDetector, VadProvider } from '../../../src/providers/vad/vad.js';
import { GatedVad } from '../../../src/providers/vad/gated.js';
import { SileroVad } from '../../../src/providers/vad/silero/silero.js';
import { SILERO_KERNELS, sileroKernel } from '../../../src/providers/vad/silero/silero-kernel.js';
import { WebRtcVad, nativeWebRtcKernel, wasmWebRtcKernel, WEBRTC_WINDOW } from '../../../src/providers/vad/webrtc.js';
import { join, noise, pieces, silence, tone, voice } from './signals.js';

/** Where there is none, the WASM build does its work: no reason to fail, but to say so. */
const nativeWebRtc = nativeWebRtcKernel();
const because = nativeWebRtc === null ? ' (skipped: the optional package webrtcvad is not there)' : '';

const PROVIDERS: [string, VadProvider][] = [
  ['webrtc (wasm)', new WebRtcVad({ kernel: 'wasm' })],
  ...(nativeWebRtc === null ? [] : [['webrtc (native)', new WebRtcVad({ kernel: 'native' })] as [string, VadProvider]]),
  ...SILERO_KERNELS.filter((kernel) => sileroKernel(kernel) !== null).map((kernel): [string, VadProvider] => [
    `silero (${kernel})`,
    new SileroVad({ kernel }),
  ]),
  ['silero behind a gate', new GatedVad('silero-gated', new SileroVad())],
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
  it.skipIf(nativeWebRtc === null)(`decides natively and in WASM alike, window by window${because}`, async () => {
    const wasm = await wasmWebRtcKernel();
    const fixtures = packageFile('fixtures/audio/');
    const recordings = readdirSync(fixtures, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.wav'))
      .map((name) => decodeWav(readFileSync(new URL(name, fixtures))))
      .map(({ channels, sampleRateHz }) => resample(channels[0]!, sampleRateHz, 16_000));
    let speech = 0;
    let different = 0;
    for (const sound of [...recordings, noise(5000, 30_000), tone(3000, 425), silence(1000), UTTERANCE]) {
      const window = new Int16Array(WEBRTC_WINDOW);
      const [one, other] = [nativeWebRtc!.createJudge(window), wasm!.createJudge(window)];
      for (let at = 0; at + WEBRTC_WINDOW <= sound.length; at += WEBRTC_WINDOW) {
        window.set(sound.subarray(at, at + WEBRTC_WINDOW));
        const isSpeech = one.isSpeech();
        if (isSpeech) speech++;
        if (isSpeech !== other.isSpeech()) different++;
      }
      one.free();
      other.free();
    }
    expect(speech).toBeGreaterThan(10_000);
    expect(different).toBe(0);
  });

  it('has no native build where its package is missing', () => {
    const missing = (): never => {
      throw new Error('Cannot find module');
    };
    expect(nativeWebRtcKernel(missing)).toBeNull();
  });

  it('must be warmed up', async () => {
    const provider = new WebRtcVad();
    const notYet: unknown = expect.objectContaining({
      code: 'PROVIDER_FAILED',
      message: expect.stringContaining('not warmed up') as unknown,
    });
    expect(() => provider.createDetector()).toThrow(notYet);
    await provider.warmUp();
    expect(() => provider.createDetector().close()).not.toThrow();
  });

  it('reaches a probability of 0.5 with two windows of speech', async () => {
    const provider = new WebRtcVad();
    await provider.warmUp();
    const heard = probabilities(provider.createDetector(), [voice(1504, 210)]);
    const first = heard.findIndex((probability) => probability > 0);
    expect(heard.slice(first, first + 3)).toEqual([0.4, 0.64, expect.closeTo(0.784)]);
  });

  it('gives back the memory of a stream that is over', async () => {
    const kernel = await wasmWebRtcKernel();
    const window = new Int16Array(WEBRTC_WINDOW);
    // 700 bytes each: without that, its 16 MB would not do.
    for (let i = 0; i < 50_000; i++) kernel!.createJudge(window).free();
  });

  it('runs off the main thread too, where the native package would crash', async () => {
    const code = `
      const { parentPort, workerData } = require('node:worker_threads');
      import(${JSON.stringify(workerFile('providers/vad/webrtc').href)}).then(async ({ WebRtcVad }) => {
        const refused = await new WebRtcVad({ kernel: 'native' }).warmUp().catch((error) => error.message);
        const provider = new WebRtcVad();
        await provider.warmUp();
        const heard = [];
        provider.createDetector().process(workerData, (probability) => heard.push(probability));
        parentPort.postMessage([refused, heard]);
      });`;
    const worker = new Worker(code, { eval: true, workerData: UTTERANCE });
    const [[refused, heard]] = (await once(worker, 'message')) as [[string, number[]]];
    await worker.terminate();
    expect(refused).toContain('native build does not run here');
    const provider = new WebRtcVad();
    await provider.warmUp();
    expect(heard).toEqual(probabilities(provider.createDetector(), [UTTERANCE]));
  });
});

function probabilities(detector: VadDetector, sound: Iterable<Int16Array>): number[] {
  const all: number[] = [];
  for (const piece of sound) detector.process(piece, (probability) => all.push(probability));
  return all;
}
