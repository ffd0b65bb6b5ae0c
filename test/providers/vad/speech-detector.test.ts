import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SileroVad } from '../../../src/providers/vad/silero/silero.js';
import { SpeechDetector, type SpeechDetectorOptions } from '../../../src/providers/vad/speech-detector.js';
import { join, noise, silence, voice } from './signals.js';

/** One window: 32 ms, as Silero's. */
const W = 512;

type Event = ['start' | 'end', sample: number, atSample: number];

/** Feeds one probability a window; events' positions are in windows. */
function hear(probabilities: readonly number[], options?: SpeechDetectorOptions): Event[] {
  const { detector, events } = listening(options);
  probabilities.forEach((probability, index) => detector.onWindow(probability, (index + 1) * W));
  return events.map(([kind, sample, at]) => [kind, sample / W, at / W]);
}

function listening(options?: SpeechDetectorOptions): { detector: SpeechDetector; events: Event[] } {
  const events: Event[] = [];
  const detector = new SpeechDetector(
    W,
    {
      onSpeechStart: (start, at) => events.push(['start', start, at]),
      onSpeechEnd: (end, at) => events.push(['end', end, at]),
    },
    options,
  );
  return { detector, events };
}

describe('the start of speech', () => {
  it('is reported once it has lasted, with where it began', () => {
    expect(hear([0, 0, 0.9, 0.9, 0.9])).toEqual([['start', 2, 4]]);
  });

  it('lies where the probability began to rise', () => {
    expect(hear([0, 0.05, 0.2, 0.3, 0.9, 0.9])).toEqual([['start', 2, 6]]);
  });

  it('lies no further back than allowed', () => {
    const rising = [0, ...Array<number>(20).fill(0.3), 0.9, 0.9];
    expect(hear(rising, { lookBackMs: 64 })).toEqual([['start', 19, 23]]);
    expect(hear(rising, { lookBackMs: 0 })).toEqual([['start', 21, 23]]);
  });

  it('is not reported for a click', () => {
    expect(hear([0, 0.99, 0, 0.99, 0, 0, 0.99, 0.1])).toEqual([]);
  });

  it('may waver between the thresholds', () => {
    expect(hear([0, 0.6, 0.4, 0.4], { minSpeechMs: 96 })).toEqual([['start', 1, 4]]);
    expect(hear([0, 0.4, 0.4, 0.4, 0.4])).toEqual([]);
  });

  it('is reported at once when no length is asked for', () => {
    expect(hear([0, 0.5], { minSpeechMs: 0 })).toEqual([['start', 1, 2]]);
  });
});

describe('the end of speech', () => {
  it('is reported after a short silence, with where it was', () => {
    expect(hear([0.9, 0.9, 0.9, 0, 0, 0, 0])).toEqual([
      ['start', 0, 2],
      ['end', 3, 6],
    ]);
  });

  it('is not reported for a shorter silence', () => {
    expect(hear([0.9, 0.9, 0, 0, 0.9, 0, 0, 0.9])).toEqual([['start', 0, 2]]);
  });

  it('wants one window below the release threshold', () => {
    expect(hear([0.9, 0.9, 0.4, 0.4, 0.4, 0.4, 0.4])).toEqual([['start', 0, 2]]);
    expect(hear([0.9, 0.9, 0.4, 0.3, 0.4])).toEqual([
      ['start', 0, 2],
      ['end', 2, 5],
    ]);
  });

  it('is followed by the next start', () => {
    expect(hear([0.9, 0.9, 0, 0, 0, 0.9, 0.9])).toEqual([
      ['start', 0, 2],
      ['end', 2, 5],
      ['start', 5, 7],
    ]);
  });

  it('takes as long as asked', () => {
    expect(hear([0.9, 0.9, 0], { minSilenceMs: 0 })).toEqual([
      ['start', 0, 2],
      ['end', 2, 3],
    ]);
  });
});

describe('the threshold', () => {
  it('is reached by a probability equal to it', () => {
    expect(hear([0.7, 0.7], { threshold: 0.7 })).toHaveLength(1);
    expect(hear([0.69, 0.69], { threshold: 0.7 })).toEqual([]);
  });

  it('lets speech begin and end even at 0 and 1', () => {
    for (const threshold of [0, 1]) {
      expect(hear([0.96, 0.96, 0, 0, 0], { threshold }).map(([kind]) => kind)).toEqual(['start', 'end']);
    }
    expect(hear([0.01, 0.01, 0.01], { threshold: 0 })).toEqual([]);
  });

  it('never starts speech earlier for being higher', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 60 }), (probabilities) => {
        const firstAt = (threshold: number): number => hear(probabilities, { threshold })[0]?.[2] ?? Infinity;
        expect(firstAt(0.8)).toBeGreaterThanOrEqual(firstAt(0.3));
      }),
    );
  });

  it.each([
    [{ threshold: -0.1 }],
    [{ threshold: 1.1 }],
    [{ threshold: Number.NaN }],
    [{ threshold: 0.5, releaseThreshold: 0.6 }],
    [{ minSpeechMs: -1 }],
    [{ minSilenceMs: Infinity }],
    [{ lookBackMs: Number.NaN }],
  ])('and every option has its range: %o', (options) => {
    expect(() => listening(options)).toThrow(RangeError);
  });
});

it('alternates starts and ends that move forward and are known after they happen', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 200 }), (probabilities) => {
      const events = hear(probabilities);
      events.forEach(([kind, sample, at], index) => {
        expect(kind).toBe(index % 2 === 0 ? 'start' : 'end');
        expect(sample).toBeGreaterThanOrEqual(events[index - 1]?.[1] ?? 0);
        expect(sample).toBeLessThanOrEqual(at);
        expect(at).toBeGreaterThan(events[index - 1]?.[2] ?? 0);
      });
    }),
  );
});

it('shows the last probability and whether speech goes on', () => {
  const { detector } = listening();
  expect([detector.probability, detector.speaking]).toEqual([0, false]);
  detector.onWindow(0.9, W);
  detector.onWindow(0.8, 2 * W);
  expect([detector.probability, detector.speaking]).toEqual([0.8, true]);
  detector.reset();
  expect([detector.probability, detector.speaking]).toEqual([0, false]);
});

it('reports no end for what was reset', () => {
  const { detector, events } = listening();
  for (const [index, probability] of [0.9, 0.9].entries()) detector.onWindow(probability, (index + 1) * W);
  detector.reset();
  for (let index = 0; index < 10; index++) detector.onWindow(0, (index + 1) * W);
  expect(events.map(([kind]) => kind)).toEqual(['start']);
});

it('finds two utterances in noise with Silero', () => {
  const sound = join(silence(512), voice(1024, 210), silence(800), voice(1024, 210), silence(800));
  const background = noise(4160, 200, 9);
  const mixed = sound.map((sample, index) => sample + background[index]!);
  const { detector: speech, events } = listening();
  const vad = new SileroVad().createDetector();
  vad.process(mixed, speech.onWindow);
  expect(events.map(([kind]) => kind)).toEqual(['start', 'end', 'start', 'end']);
  const expectedMs = [512, 1536, 2336, 3360];
  events.forEach(([, sample], index) => expect(Math.abs(sample / 16 - expectedMs[index]!)).toBeLessThan(130));
  vad.close();
});
