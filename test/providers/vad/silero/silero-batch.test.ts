/** Windows of many streams in one product: what a stream hears must not depend on who else is heard with it. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { gather } from '../../../../src/base/gathering.js';
import { SileroBatch } from '../../../../src/providers/vad/silero/silero-batch.js';
import { sileroKernel } from '../../../../src/providers/vad/silero/silero-kernel.js';
import { SILERO_STATE, SILERO_WINDOW } from '../../../../src/providers/vad/silero/silero-model.js';
import { SileroVad } from '../../../../src/providers/vad/silero/silero.js';
import type { VadDetector } from '../../../../src/providers/vad/vad.js';
import { noise, voice } from '../signals.js';

const FRAME = 320;
const signals = [voice(640), noise(640, 9000), voice(640, 210), noise(640, 300, 3), voice(640, 90)];

describe.skipIf(sileroKernel('native') === null)('Silero, many streams together', () => {
  it.each([1, 2, 3, 5, 16, 17, 70])('gives each of %i what it gives it alone', (count) => {
    const vad = new SileroVad();
    const heard = Array.from({ length: count }, (_, n) => new Ear(vad, signals[n % signals.length]!));
    for (let at = 0; at < signals[0]!.length; at += FRAME) {
      gather(() => {
        for (const ear of heard) ear.hear(at);
      });
    }
    for (const { signal, windows } of heard) {
      const alone = probabilities(vad.createDetector(), signal);
      expect(windows.map(([, end]) => end)).toEqual(alone.map(([, end]) => end));
      for (const [n, [probability]] of windows.entries()) expect(probability).toBeCloseTo(alone[n]![0], 5);
    }
  });

  it('has a stream that fills several windows hear them one behind the other', () => {
    const vad = new SileroVad();
    const [one, other] = [new Ear(vad, signals[0]!), new Ear(vad, signals[2]!)];
    gather(() => {
      one.hearAll();
      other.hearAll();
      expect(one.windows.length).toBeGreaterThan(0);
    });
    for (const { signal, windows } of [one, other]) {
      const alone = probabilities(vad.createDetector(), signal);
      expect(windows).toHaveLength(alone.length);
      for (const [n, [probability]] of windows.entries()) expect(probability).toBeCloseTo(alone[n]![0], 5);
    }
  });

  it('waits for the end of what is gathered, where it may, and for nothing else', () => {
    const vad = new SileroVad();
    const window = signals[0]!.subarray(0, SILERO_WINDOW);
    const [may, mayNot] = [vad.createDetector({ mayWait: true }), vad.createDetector()];
    const reported: string[] = [];
    may.process(window, () => reported.push('nothing is gathered'));
    gather(() => {
      may.process(window, () => reported.push('waited'));
      mayNot.process(window, () => reported.push('at once'));
      reported.push('gathered');
    });
    expect(reported).toEqual(['nothing is gathered', 'at once', 'gathered', 'waited']);
  });

  it('tells a stream that is closed or begun anew in the meantime nothing, and spoils nothing of it', () => {
    const vad = new SileroVad();
    const window = signals[0]!.subarray(0, SILERO_WINDOW);
    const [closed, reset] = [vad.createDetector({ mayWait: true }), vad.createDetector({ mayWait: true })];
    const reported: number[] = [];
    gather(() => {
      for (const detector of [closed, reset]) detector.process(window, (probability) => reported.push(probability));
      closed.close();
      reset.reset();
    });
    expect(reported).toEqual([]);
    const first = probabilities(vad.createDetector(), window);
    expect(probabilities(reset, window)).toEqual(first);
  });

  it('goes on where a listener to a window throws, and lets the error be seen', async () => {
    const vad = new SileroVad();
    const window = signals[0]!.subarray(0, SILERO_WINDOW);
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const seen = once(process, 'uncaughtException');
    const reported: number[] = [];
    gather(() => {
      vad.createDetector({ mayWait: true }).process(window, () => {
        throw new Error('a fault of one');
      });
      vad.createDetector({ mayWait: true }).process(window, (probability) => reported.push(probability));
    });
    expect(reported).toHaveLength(1);
    expect(await seen).toEqual([expect.objectContaining({ message: 'a fault of one' }), 'uncaughtException']);
    for (const other of others) process.on('uncaughtException', other);
  });
});

it('a batch gives each stream its own probability and memory, also to those that come while it tells', () => {
  const order: number[] = [];
  const batch = new SileroBatch((states, samples, count, probabilities) => {
    for (let n = 0; n < count; n++) {
      probabilities[n] = samples[n * SILERO_WINDOW]! / 100;
      states[n * SILERO_STATE] = states[n * SILERO_STATE]! + 1;
    }
  });
  const stream = (state: Float32Array, computed: (probability: number) => void) => ({ state, waits: true, computed });
  const [one, two, three] = [1, 2, 3].map((n) => new Float32Array(SILERO_STATE).fill(n));
  const window = (value: number): Int16Array => new Int16Array(SILERO_WINDOW).fill(value);
  gather(() => {
    batch.add(
      stream(one!, (probability) => {
        order.push(probability);
        gather(() =>
          batch.add(
            stream(three!, (late) => order.push(late)),
            window(75),
          ),
        );
      }),
      window(25),
    );
    batch.add(
      stream(two!, (probability) => order.push(probability)),
      window(50),
    );
  });
  expect(order).toEqual([0.25, 0.75, 0.5]);
  expect([one![0], two![0], three![0]]).toEqual([2, 3, 4]);
});

/** A stream that is heard frame by frame. */
class Ear {
  readonly windows: [probability: number, end: number][] = [];
  readonly #detector: VadDetector;

  constructor(
    vad: SileroVad,
    readonly signal: Int16Array,
  ) {
    this.#detector = vad.createDetector({ mayWait: true });
  }

  hear(at: number): void {
    this.#detector.process(this.signal.subarray(at, at + FRAME), (...window) => this.windows.push(window));
  }

  hearAll(): void {
    this.#detector.process(this.signal, (...window) => this.windows.push(window));
  }
}

function probabilities(detector: VadDetector, signal: Int16Array): [number, number][] {
  const windows: [number, number][] = [];
  detector.process(signal, (...window) => windows.push(window));
  return windows;
}
