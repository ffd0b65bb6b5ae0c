import type { Random } from '../../base/random.js';

/** Samples of noise with a mean square of 1. */
export type NoiseSource = () => number;

/** Uniformly distributed white noise. */
export function whiteNoise(random: Random): NoiseSource {
  const peak = Math.sqrt(3);
  return () => (random.next() * 2 - 1) * peak;
}

/** Poles and gains of the filter that makes white noise pink, within 0.05 dB above 9 Hz at 44.1 kHz (Paul Kellet, 1999). */
const POLES = [0.99886, 0.99332, 0.969, 0.8665, 0.55, -0.7616] as const;
const GAINS = [0.0555179, 0.0750759, 0.153852, 0.3104856, 0.5329522, -0.016898] as const;
const DIRECT = 0.5362;
const DELAYED = 0.115926;
/** Root mean square of the filter's output for white noise with a mean square of 1; see `noise.test.ts`. */
const FILTERED_RMS = 3.046;

/** Pink noise: 3 dB less an octave. */
export function pinkNoise(random: Random): NoiseSource {
  const white = whiteNoise(random);
  const states = POLES.map(() => 0);
  let delayed = 0;
  return () => {
    const input = white();
    let output = delayed + input * DIRECT;
    for (const [index, pole] of POLES.entries()) {
      const state = pole * (states[index] ?? 0) + input * (GAINS[index] ?? 0);
      states[index] = state;
      output += state;
    }
    delayed = input * DELAYED;
    return output / FILTERED_RMS;
  };
}

/** A recording that repeats, at the level of a mean square of 1. */
export function repeatedNoise(samples: Int16Array): NoiseSource {
  let squares = 0;
  for (const sample of samples) squares += sample * sample;
  const rms = Math.sqrt(squares / Math.max(1, samples.length));
  let at = 0;
  return () => {
    const sample = samples[at] ?? 0;
    at = (at + 1) % Math.max(1, samples.length);
    return rms === 0 ? 0 : sample / rms;
  };
}
