import { HEARING_RATE_HZ } from '../frame.js';

/**
 * Prosody before a pause: pitch (F0) by normalised autocorrelation, loudness, rate and durations of the last 300 and
 * 1000 ms of speech, relative to the same speaker's speech in the window.
 */

/** The features, in the order of a model's weights. A model fits only the list that it was trained on. */
export const PROSODIC_FEATURES = [
  /** F0 of the last 300 and 1000 ms against the window's median, semitones. */
  'f0Level300',
  'f0Level1000',
  /** Its slope, semitones per second. */
  'f0Slope300',
  'f0Slope1000',
  /** Its standard deviation, semitones. */
  'f0Spread1000',
  /** Loudness against the mean of speech in the window, dB. */
  'levelDb300',
  /** Its slope, dB per second. */
  'levelSlope300',
  'levelSlope1000',
  /** Length of the last voiced stretch, natural logarithm of its ratio to the mean one. */
  'lastVoiced',
  /** Share of voiced frames. */
  'voiced1000',
  /** Peaks of loudness per second, and their ratio to the whole window. */
  'rate1000',
  'rateChange',
  /** Length of the speech in the window, s. */
  'speechS',
] as const;

export type ProsodicFeatures = Readonly<Record<(typeof PROSODIC_FEATURES)[number], number>>;

/** Length of the window in seconds: what is earlier counts no more. */
export const PROSODY_WINDOW_S = 4;

const FACTOR = 4;
const RATE_HZ = HEARING_RATE_HZ / FACTOR;
const HOP = RATE_HZ / 100;
const HOPS_A_SECOND = 100;
/** Two periods of the lowest voice. */
const WINDOW = Math.round(RATE_HZ * 0.03);
const MIN_LAG = Math.floor(RATE_HZ / 400);
const MAX_LAG = Math.ceil(RATE_HZ / 70);
/** Normalised autocorrelation of a voiced frame. */
const VOICED = 0.6;
/** The shortest lag with a peak this close to the best counts: longer ones are multiples of the period. */
const NEARLY = 0.9;
/** Frames this much below the loudest are not speech, in dB. */
const RANGE_DB = 30;
/** Speech of fewer frames has no prosody to measure. */
const MIN_FRAMES = 10;

interface Frame {
  db: number;
  /** In semitones above 1 Hz; null = unvoiced. */
  pitch: number | null;
}

/**
 * @param samples 16 kHz, mono; the silence after the speech may be there
 * @returns null if there is too little speech
 */
export function prosodicFeatures(samples: Int16Array): ProsodicFeatures | null {
  const frames = framesOf(
    decimated(samples.subarray(Math.max(0, samples.length - PROSODY_WINDOW_S * HEARING_RATE_HZ))),
  );
  const loudest = frames.reduce((most, { db }) => Math.max(most, db), -Infinity);
  const isSpeech = ({ db }: Frame): boolean => db > loudest - RANGE_DB && db > 0;
  const speech = frames.slice(frames.findIndex(isSpeech), frames.findLastIndex(isSpeech) + 1);
  const spoken = speech.filter(isSpeech);
  if (spoken.length < MIN_FRAMES) return null;
  const [last300, last1000] = [speech.slice(-0.3 * HOPS_A_SECOND), speech.slice(-HOPS_A_SECOND)];
  const median = medianOf(pitchesOf(speech)) ?? 0;
  const level = (of: readonly Frame[]): number => mean(pitchesOf(of)) - (pitchesOf(of).length === 0 ? 0 : median);
  const meanDb = mean(spoken.map(({ db }) => db));
  const runs = voicedRuns(speech);
  const rate1000 = peaksASecond(last1000);
  return rounded({
    f0Level300: level(last300),
    f0Level1000: level(last1000),
    f0Slope300: pitchSlope(last300),
    f0Slope1000: pitchSlope(last1000),
    f0Spread1000: deviation(pitchesOf(last1000)),
    levelDb300: mean(last300.map(({ db }) => db)) - meanDb,
    levelSlope300: slope(last300.map(({ db }, at) => [at, db])),
    levelSlope1000: slope(last1000.map(({ db }, at) => [at, db])),
    lastVoiced: runs.length === 0 ? 0 : Math.log((runs.at(-1) ?? 1) / mean(runs)),
    voiced1000: pitchesOf(last1000).length / last1000.length,
    rate1000,
    rateChange: rate1000 / Math.max(1, peaksASecond(speech)),
    speechS: spoken.length / HOPS_A_SECOND,
  });
}

/** Means of four samples: what is left above 2 kHz does not matter to a voice's period. */
function decimated(samples: Int16Array): Float64Array {
  const out = new Float64Array(Math.floor(samples.length / FACTOR));
  for (let at = 0; at < out.length; at++) {
    const from = at * FACTOR;
    out[at] =
      ((samples[from] ?? 0) + (samples[from + 1] ?? 0) + (samples[from + 2] ?? 0) + (samples[from + 3] ?? 0)) / FACTOR;
  }
  return out;
}

function framesOf(samples: Float64Array): Frame[] {
  const frames: Frame[] = [];
  for (let from = 0; from + WINDOW + MAX_LAG <= samples.length; from += HOP) {
    let energy = 0;
    for (let at = from; at < from + WINDOW; at++) energy += (samples[at] ?? 0) ** 2;
    const db = 10 * Math.log10(energy / WINDOW + 1e-3);
    frames.push({ db, pitch: db > 20 ? pitchAt(samples, from, energy) : null });
  }
  return frames;
}

function pitchAt(samples: Float64Array, from: number, energy: number): number | null {
  const correlations = new Float64Array(MAX_LAG + 2);
  let lagged = 0;
  for (let at = from + MIN_LAG - 1; at < from + MIN_LAG - 1 + WINDOW; at++) lagged += (samples[at] ?? 0) ** 2;
  let best = 0;
  for (let lag = MIN_LAG - 1; lag <= MAX_LAG; lag++) {
    let sum = 0;
    for (let at = from; at < from + WINDOW; at++) sum += (samples[at] ?? 0) * (samples[at + lag] ?? 0);
    const correlation = sum / (Math.sqrt(energy * lagged) + 1e-9);
    correlations[lag] = correlation;
    if (lag >= MIN_LAG && correlation > best) best = correlation;
    lagged += (samples[from + lag + WINDOW] ?? 0) ** 2 - (samples[from + lag] ?? 0) ** 2;
  }
  if (best < VOICED) return null;
  for (let lag = MIN_LAG; lag < MAX_LAG; lag++) {
    const [before = 0, here = 0, after = 0] = correlations.subarray(lag - 1, lag + 2);
    if (here < NEARLY * best || here < before || here < after) continue;
    const bend = before - 2 * here + after;
    const exact = lag + (bend === 0 ? 0 : (0.5 * (before - after)) / bend);
    return 12 * Math.log2(RATE_HZ / exact);
  }
  return null;
}

function pitchesOf(frames: readonly Frame[]): number[] {
  return frames.flatMap(({ pitch }) => pitch ?? []);
}

function pitchSlope(frames: readonly Frame[]): number {
  return slope(frames.flatMap(({ pitch }, at) => (pitch === null ? [] : [[at, pitch] as const])));
}

/** Least squares, per second; 0 for fewer than five points. */
function slope(points: readonly (readonly [at: number, value: number])[]): number {
  if (points.length < 5) return 0;
  const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, value]) => value))];
  let [above, below] = [0, 0];
  for (const [at, value] of points) {
    above += (at - x) * (value - y);
    below += (at - x) ** 2;
  }
  return (above / below) * HOPS_A_SECOND;
}

/** Lengths of the voiced stretches, in frames. */
function voicedRuns(frames: readonly Frame[]): number[] {
  const runs: number[] = [];
  let isVoiced = false;
  for (const { pitch } of frames) {
    if (pitch !== null && isVoiced) runs[runs.length - 1] = (runs.at(-1) ?? 0) + 1;
    else if (pitch !== null) runs.push(1);
    isVoiced = pitch !== null;
  }
  return runs;
}

/** Peaks of smoothed loudness: about as many as syllables. */
function peaksASecond(frames: readonly Frame[]): number {
  const smooth = frames.map((_, at) => mean(frames.slice(Math.max(0, at - 3), at + 4).map(({ db }) => db)));
  let [peaks, valley, top] = [0, smooth[0] ?? 0, -Infinity];
  for (const db of smooth) {
    top = Math.max(top, db);
    if (db < top - 2) {
      if (top > valley + 2) peaks++;
      [valley, top] = [db, db];
    }
    valley = Math.min(valley, db);
  }
  return (peaks * HOPS_A_SECOND) / Math.max(1, frames.length);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function medianOf(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

function rounded(features: ProsodicFeatures): ProsodicFeatures {
  return Object.fromEntries(
    PROSODIC_FEATURES.map((name) => [name, Math.round(features[name] * 1000) / 1000]),
  ) as ProsodicFeatures;
}
