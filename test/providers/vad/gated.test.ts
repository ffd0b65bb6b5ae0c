import { beforeAll, expect, it } from 'vitest';
import { GatedVad, LevelGate } from '../../../src/providers/vad/gated.js';
import { SileroVad } from '../../../src/providers/vad/silero/silero.js';
import type { VadDetector } from '../../../src/providers/vad/vad.js';
import { join, noise, silence, voice } from './signals.js';

const WINDOW = 512;
const silero = new SileroVad();
const gated = new GatedVad('silero-gated', silero);

beforeAll(() => gated.warmUp());

it('spares the detector a line on which nothing but noise is heard', () => {
  const detector = gated.createDetector();
  const heard = probabilities(detector, noise(20_000, 30));
  expect(Math.max(...heard)).toBeLessThan(0.1);
  expect(detector.spared / heard.length).toBeGreaterThan(0.93);
});

it('hears a voice as the detector does that has heard all of the line', () => {
  const line = join(noise(3000, 30), voice(1504, 210), noise(3000, 30), voice(992, 180), noise(1000, 30));
  const whole = probabilities(silero.createDetector(), line);
  const heard = probabilities(gated.createDetector(), line);
  expect(heard).toHaveLength(whole.length);
  whole.forEach((probability, n) => {
    if (probability > 0.3) expect(Math.abs(probability - (heard[n] ?? 0)), `window ${String(n)}`).toBeLessThan(0.15);
  });
});

it('goes on to the bit where it was only just closed', () => {
  // Half a second of silence closes it; what it is not given until the voice is kept.
  const line = join(voice(1504, 210), silence(960), voice(992, 180));
  const whole = probabilities(silero.createDetector(), line);
  const detector = gated.createDetector();
  const heard = probabilities(detector, line);
  expect(detector.spared).toBeGreaterThan(0);
  expect(heard.slice(-20)).toEqual(whole.slice(-20));
});

it('listens on while somebody speaks who has become as quiet as the noise', () => {
  const detector = gated.createDetector();
  probabilities(detector, join(silence(1000), voice(1504, 210)));
  const before = detector.spared;
  const quiet = voice(320, 210).map((sample) => Math.round(sample / 400));
  probabilities(detector, quiet);
  expect(detector.spared).toBe(before);
});

it('takes noise that stays for silence after a while, and a voice over it for none', () => {
  const gate = new LevelGate();
  const push = (samples: Int16Array): boolean[] =>
    Array.from({ length: Math.floor(samples.length / WINDOW) }, (_, n) => {
      // However it is cut.
      gate.push(samples, n * WINDOW, n * WINDOW + 200);
      gate.push(samples.subarray(n * WINDOW + 200, (n + 1) * WINDOW));
      const standsOut = gate.standsOut();
      gate.heard(0);
      return standsOut;
    });
  const loud = push(noise(6000, 2000));
  expect(loud.slice(0, 10)).not.toContain(false);
  expect(loud.slice(-30)).not.toContain(true);
  expect(push(noise(160, 8000))).toEqual([true, true, true, true, true]);
  expect(push(silence(320))).not.toContain(true);
});

function probabilities(detector: VadDetector, samples: Int16Array): number[] {
  const heard: number[] = [];
  detector.process(samples, (probability) => heard.push(probability));
  return heard;
}
