import { RealFft } from '../../audio/dsp/fft.js';
import { HEARING_RATE_HZ } from '../../audio/frame.js';

/**
 * The log-mel spectrogram that Whisper was trained on (Radford et al., 2022, section 2.2; mel scale of Slaney's Auditory
 * Toolbox, 1998): 80 bands up to 8 kHz, windows of 25 ms every 10 ms.
 */

export const MEL_BANDS = 80;
const WINDOW = 400;
const HOP = 160;
const BINS = WINDOW / 2 + 1;

/**
 * @param samples 16 kHz, -1..1, a multiple of 160
 * @returns bands × frames, row by row; a frame for each 10 ms
 */
export function logMel(samples: Float32Array): Float32Array {
  const frames = samples.length / HOP;
  const { fft, hann, filters } = tables();
  const out = new Float32Array(MEL_BANDS * frames);
  const window = new Float64Array(WINDOW);
  const power = new Float64Array(BINS);
  let loudest = -Infinity;
  for (let frame = 0; frame < frames; frame++) {
    windowed(samples, frame * HOP - WINDOW / 2, hann, window);
    fft.power(window, power);
    for (const [band, { first, weights }] of filters.entries()) {
      let sum = 0;
      for (let index = 0; index < weights.length; index++) {
        sum += (weights[index] as number) * (power[first + index] as number);
      }
      const log = Math.log10(Math.max(sum, 1e-10));
      out[band * frames + frame] = log;
      loudest = Math.max(loudest, log);
    }
  }
  for (let index = 0; index < out.length; index++) out[index] = (Math.max(out[index] as number, loudest - 8) + 4) / 4;
  return out;
}

/** A windowed frame. Mirrored beyond the ends. */
function windowed(samples: Float32Array, start: number, hann: Float64Array, out: Float64Array): void {
  for (let n = 0; n < WINDOW; n++) {
    let at = start + n;
    if (at < 0) at = -at;
    if (at >= samples.length) at = 2 * samples.length - 2 - at;
    out[n] = (samples[at] ?? 0) * (hann[n] as number);
  }
}

interface Filter {
  first: number;
  weights: Float64Array;
}

interface Tables {
  fft: RealFft;
  hann: Float64Array;
  filters: readonly Filter[];
}

let made: Tables | null = null;

function tables(): Tables {
  if (made !== null) return made;
  const angle = (n: number): number => (2 * Math.PI * n) / WINDOW;
  made = {
    fft: new RealFft(WINDOW),
    hann: Float64Array.from({ length: WINDOW }, (_, n) => 0.5 - 0.5 * Math.cos(angle(n))),
    filters: melFilters(),
  };
  return made;
}

/** Triangles of equal area between points that are evenly spaced on the mel scale. */
function melFilters(): Filter[] {
  const topMel = hzToMel(HEARING_RATE_HZ / 2);
  const points = Array.from({ length: MEL_BANDS + 2 }, (_, index) => melToHz((topMel * index) / (MEL_BANDS + 1)));
  return Array.from({ length: MEL_BANDS }, (_, band) => {
    const [low = 0, peak = 0, high = 0] = points.slice(band, band + 3);
    const all = Float64Array.from({ length: BINS }, (_unused, bin) => {
      const hz = (bin * HEARING_RATE_HZ) / WINDOW;
      const height = Math.min((hz - low) / (peak - low), (high - hz) / (high - peak));
      return (Math.max(0, height) * 2) / (high - low);
    });
    const first = all.findIndex((weight) => weight > 0);
    return { first: Math.max(0, first), weights: all.slice(Math.max(0, first), all.findLastIndex((w) => w > 0) + 1) };
  });
}

/** Linear up to 1 kHz, logarithmic above. */
function hzToMel(hz: number): number {
  return hz < 1000 ? (3 * hz) / 200 : 15 + (27 * Math.log(hz / 1000)) / Math.log(6.4);
}

function melToHz(mel: number): number {
  return mel < 15 ? (200 * mel) / 3 : 1000 * Math.exp((Math.log(6.4) * (mel - 15)) / 27);
}
