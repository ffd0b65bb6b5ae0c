import { describe, expect, it } from 'vitest';
import { ComfortNoise } from '../../../src/audio/dsp/comfort-noise.js';
import { levelOf } from '../../../src/audio/dsp/level.js';

function heardAt(dbov: number | null): number {
  const noise = new ComfortNoise();
  noise.level(dbov);
  const out = new Int16Array(8_000);
  noise.into(out);
  return levelOf(out).rmsDbfs;
}

describe('comfort noise', () => {
  it.each([30, 45, 60])('is as loud as it is asked to be: -%i dBov', (dbov) => {
    expect(Math.abs(heardAt(dbov) + dbov)).toBeLessThan(0.5);
  });

  it('is never loud, and silence where there is to be none', () => {
    expect(Math.abs(heardAt(0) + 30)).toBeLessThan(0.5);
    expect(heardAt(127)).toBe(-100);
    expect(heardAt(null)).toBe(-100);
  });
});
