import { describe, expect, it } from 'vitest';
import { logMel, MEL_BANDS } from '../../../src/providers/turn/log-mel.js';

const FRAMES = 50;
const tone = (hz: number): Float32Array =>
  Float32Array.from({ length: FRAMES * 160 }, (_, at) => 0.5 * Math.sin((2 * Math.PI * hz * at) / 16_000));

function loudestBand(spectrogram: Float32Array, frame: number): number {
  const column = Array.from({ length: MEL_BANDS }, (_, band) => spectrogram[band * FRAMES + frame] ?? 0);
  return column.indexOf(Math.max(...column));
}

describe('logMel', () => {
  it('has a row for each band and a column for each 10 ms', () => {
    expect(logMel(tone(440))).toHaveLength(MEL_BANDS * FRAMES);
  });

  // 26.8 bands to 1 kHz on Slaney's scale, then evenly spaced in octaves.
  it.each([
    [300, 7],
    [1000, 26],
    [2000, 44],
    [4000, 61],
  ])('%i Hz lies in band %i', (hz, band) => {
    const found = loudestBand(logMel(tone(hz)), 25);
    expect(Math.abs(found - band)).toBeLessThanOrEqual(1);
  });

  it('is level over silence, and spans 8 powers of ten at most, as Whisper scales them', () => {
    expect(new Set(logMel(new Float32Array(FRAMES * 160))).size).toBe(1);
    const loud = logMel(tone(1000));
    expect(Math.max(...loud) - Math.min(...loud)).toBeCloseTo(2, 5);
  });

  it('does not depend on where in the frame a steady tone begins', () => {
    const [one, other] = [logMel(tone(1000)), logMel(tone(1000).subarray(160 * 5, 160 * 45))];
    expect(other[26 * 40 + 20]).toBeCloseTo(one[26 * FRAMES + 25] ?? 0, 3);
  });
});
