/** Makes of a whole recording one at another rate. */
export type Resample = (samples: Int16Array) => Int16Array;

/** In dB. */
export interface ResamplerQuality {
  /** A tone of 1 kHz against all that is not the tone: noise and distortion (THD+N). Rounding to 16 bits alone leaves 89. */
  snr: number;
  /** The loudest tone against the softest, of those up to 80 % of the band that both rates have. */
  ripple: number;
  /** The share of that band up to which tones come through, within 3 dB. */
  band: number;
  /** How far that tone of the rest is down that comes through best: aliases of what the lower rate cannot have, images. */
  rejection: number;
}

const AMPLITUDE = 8_000;
const SECONDS = 0.5;
/** The filter's own beginning and end are left out. */
const EDGE = 0.2;
const PASSBAND = 0.8;
const STOPBAND = 1.15;
const TONES = 24;

/** What is measured of the sound itself, with single tones. */
export function qualityOf(resample: Resample, fromHz: number, toHz: number): ResamplerQuality {
  const nyquistHz = Math.min(fromHz, toHz) / 2;
  const through = (hz: number): { levelDb: number; restDb: number } => measured(resample(tone(hz, fromHz)), hz, toHz);
  const gains = Array.from({ length: TONES }, (_, at) =>
    through(100 + ((PASSBAND * nyquistHz - 100) * at) / (TONES - 1)),
  );
  const middle = through(1_000);
  const levels = gains.map(({ levelDb }) => levelDb);
  const shares = Array.from({ length: TONES }, (_, at) => PASSBAND + ((0.995 - PASSBAND) * at) / (TONES - 1));
  const lost = shares.find((share) => through(share * nyquistHz).levelDb < middle.levelDb - 3);
  return {
    snr: middle.levelDb - middle.restDb,
    ripple: Math.max(...levels) - Math.min(...levels),
    band: lost ?? 1,
    rejection: fromHz > toHz ? aliases(resample, fromHz, toHz) : images(gains),
  };
}

/** Down: tones above the new rate's band, all of which should be gone. */
function aliases(resample: Resample, fromHz: number, toHz: number): number {
  const [lowHz, highHz] = [(STOPBAND * toHz) / 2, 0.98 * (fromHz / 2)];
  const left = Array.from({ length: TONES }, (_, at) => {
    const out = inner(resample(tone(lowHz + ((highHz - lowHz) * at) / (TONES - 1), fromHz)));
    return db(power(out)) - db(AMPLITUDE ** 2 / 2);
  });
  return -Math.max(...left);
}

/** Up: what comes with a tone that should be alone. */
function images(gains: readonly { levelDb: number; restDb: number }[]): number {
  return Math.min(...gains.map(({ levelDb, restDb }) => levelDb - restDb));
}

function tone(hz: number, rateHz: number): Int16Array {
  const length = Math.round(SECONDS * rateHz);
  return Int16Array.from({ length }, (_, at) => Math.round(AMPLITUDE * Math.sin((2 * Math.PI * hz * at) / rateHz)));
}

/** The tone in it, by least squares, and the rest; its phase does not matter. */
function measured(whole: Int16Array, hz: number, rateHz: number): { levelDb: number; restDb: number } {
  const samples = inner(whole);
  const step = (2 * Math.PI * hz) / rateHz;
  let [ss, sc, cc, sx, cx] = [0, 0, 0, 0, 0];
  for (const [at, sample] of samples.entries()) {
    const [s, c] = [Math.sin(step * at), Math.cos(step * at)];
    ss += s * s;
    sc += s * c;
    cc += c * c;
    sx += s * sample;
    cx += c * sample;
  }
  const determinant = ss * cc - sc * sc;
  const [a, b] = [(cc * sx - sc * cx) / determinant, (ss * cx - sc * sx) / determinant];
  const rest = Float64Array.from(samples, (sample, at) => sample - a * Math.sin(step * at) - b * Math.cos(step * at));
  return { levelDb: db((a * a + b * b) / 2), restDb: db(power(rest)) };
}

function inner(samples: Int16Array): Int16Array {
  return samples.subarray(Math.floor(samples.length * EDGE), Math.floor(samples.length * (1 - EDGE)));
}

function power(samples: Int16Array | Float64Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return sum / samples.length;
}

function db(of: number): number {
  return 10 * Math.log10(Math.max(of, 1e-12));
}
