import { expect, it } from 'vitest';
import { Random } from '../../../src/base/random.js';
import { calibrated, fitCalibration } from '../../../src/providers/turn/calibration.js';

it('finds the line that the labels were drawn from', () => {
  const random = new Random(3);
  const truth = { slope: 0.6, intercept: -1.2 };
  const samples = Array.from({ length: 20_000 }, () => {
    const score = random.next();
    return { score, isOver: random.chance(calibrated(score, truth)) };
  });
  const found = fitCalibration(samples);
  expect(found?.slope).toBeCloseTo(0.6, 1);
  expect(found?.intercept).toBeCloseTo(-1.2, 1);
  // Of the turns with a probability of about 0.3, three in ten are over.
  const about = samples.filter(({ score }) => Math.abs(calibrated(score, truth) - 0.3) < 0.05);
  expect(about.filter(({ isOver }) => isOver).length / about.length).toBeCloseTo(0.3, 1);
});

it('does not run away where most scores are the same', () => {
  const same = Array.from({ length: 300 }, (_, at) => ({ score: at % 30 === 0 ? 1 : 0, isOver: at % 4 !== 0 }));
  const found = fitCalibration(same);
  expect(Math.abs(found?.slope ?? Infinity)).toBeLessThan(1);
  expect(calibrated(0, found ?? { slope: 1, intercept: 0 })).toBeCloseTo(0.75, 1);
});

it('stays finite where the scores separate the labels, and is none without both', () => {
  const apart = fitCalibration([
    { score: 0.1, isOver: false },
    { score: 0.9, isOver: true },
  ]);
  expect(Number.isFinite(apart?.slope)).toBe(true);
  expect(fitCalibration([{ score: 0.5, isOver: true }])).toBeNull();
  expect(calibrated(0, { slope: 1, intercept: 0 })).toBeCloseTo(0, 3);
  expect(calibrated(1, { slope: 1, intercept: 0 })).toBeCloseTo(1, 3);
});
