import { describe, expect, it } from 'vitest';
import {
  baselineOf,
  fewestCutoffs,
  frontier,
  interval,
  leastLatency,
  pointOf,
  type ScoredSilence,
  type ScoredTurn,
  sweepOf,
} from '../../bench/lib/eot/rules.js';
import { Random } from '../../src/base/random.js';

const silence = (
  label: ScoredSilence['label'],
  durationMs: number,
  ...scores: [atMs: number, probability: number][]
): ScoredSilence => ({
  label,
  index: 0,
  durationMs,
  scores: scores.map(([atMs, probability]) => ({ atMs, probability })),
});
const turn = (...silences: ScoredSilence[]): ScoredTurn => ({ id: 'one', silences });

/** Ten pauses of a second of which one sounds like an end, an end that is heard at once and one that is heard late. */
const TURNS: ScoredTurn[] = [
  turn(
    ...Array.from({ length: 9 }, () => silence('hold', 1000, [0, 0], [500, 0.1])),
    silence('eot', 4000, [0, 0], [500, 0.7]),
  ),
  turn(silence('hold', 1000, [500, 0.6]), silence('eot', 4000, [0, 0], [500, 0.4], [1200, 0.8])),
];

describe('the rules of eot-bench', () => {
  it('ends a turn at the first score above the threshold, not before the delay, and at the timeout', () => {
    const sweep = sweepOf(TURNS);
    const at = (threshold: number, delayMs: number, timeoutMs: number) =>
      pointOf(sweep, { threshold, delayMs, timeoutMs });
    expect(at(0.65, 500, 1500)).toMatchObject({ cutoffRate: 0, meanLatencyMs: (500 + 1200) / 2, timeoutRate: 0 });
    expect(at(0.65, 700, 1000)).toMatchObject({ cutoffRate: 0, meanLatencyMs: (700 + 1000) / 2, timeoutRate: 0.5 });
    expect(at(0.55, 200, 1000)).toMatchObject({ cutoffRate: 0.1 });
    // A score equal to the threshold does not count.
    expect(at(0.6, 200, 1000)).toMatchObject({ cutoffRate: 0 });
    expect(at(0.05, 200, 1000)).toMatchObject({ cutoffRate: 1, meanLatencyMs: 500 });
    // A pause that is over at the moment of the decision is not cut off.
    expect(at(0.05, 1000, 1000)).toMatchObject({ cutoffRate: 0, meanLatencyMs: 1000 });
  });

  it('takes the best setting within a budget', () => {
    const sweep = sweepOf(TURNS);
    expect(fewestCutoffs(sweep, 850)).toMatchObject({ cutoffRate: 0, meanLatencyMs: 750 });
    expect(fewestCutoffs(sweep, 500)).toMatchObject({ cutoffRate: 0.1, meanLatencyMs: 500 });
    expect(fewestCutoffs(sweep, 499)).toBeNull();
    expect(leastLatency(sweep, 0.1)).toMatchObject({ meanLatencyMs: 500 });
    expect(leastLatency(sweep, 0.05)).toMatchObject({ meanLatencyMs: 750 });
  });

  it('sends plain silence through the same evaluation', () => {
    const baseline = baselineOf(TURNS);
    expect(leastLatency(baseline, 0.05)).toMatchObject({ cutoffRate: 0, meanLatencyMs: 1000 });
    expect(fewestCutoffs(baseline, 600)).toMatchObject({ cutoffRate: 1, meanLatencyMs: 200 });
  });

  it('counts pauses of 0.2 to 5 s, and every end', () => {
    const turns = [
      turn(
        silence('hold', 190, [0, 1]),
        silence('hold', 5100, [0, 1]),
        silence('hold', 5000, [0, 1]),
        silence('eot', 300),
      ),
      turn(silence('hold', 1000, [0, 1])), // no end
    ];
    const point = pointOf(sweepOf(turns), { threshold: 0.5, delayMs: 200, timeoutMs: 3500 });
    expect(point).toMatchObject({ cutoffRate: 1, meanLatencyMs: 3500, timeoutRate: 1 });
    expect(sweepOf(turns).holds).toEqual(Uint16Array.of(1));
  });

  it('leaves out settings that another one beats', () => {
    const points = frontier(sweepOf(TURNS));
    expect(points.map(({ meanLatencyMs, cutoffRate }) => [meanLatencyMs, cutoffRate])).toEqual([
      [500, 0.1],
      [750, 0],
    ]);
  });

  it('draws an interval around a figure, wider for fewer turns', () => {
    const chance = new Random(5);
    const random = (): number => chance.next();
    const made = (count: number): ScoredTurn[] =>
      Array.from({ length: count }, () =>
        turn(silence('hold', 1000, [200, random() < 0.2 ? 0.9 : 0.1]), silence('eot', 4000, [200, 0.9])),
      );
    const widthOf = (count: number): number => {
      const sweep = sweepOf(made(count));
      const of = (turns: Uint32Array): number | null => fewestCutoffs(sweep, 300, turns)?.cutoffRate ?? null;
      const [low, high] = interval(sweep, of, () => chance.next(), 200) ?? [1, 0];
      expect(low).toBeLessThanOrEqual(0.2 + 0.1);
      expect(high).toBeGreaterThanOrEqual(0.1);
      return high - low;
    };
    expect(widthOf(40)).toBeGreaterThan(1.5 * widthOf(400));
    const never = sweepOf(made(10));
    expect(
      interval(
        never,
        () => null,
        () => chance.next(),
      ),
    ).toBeNull();
  });
});
