/**
 * Filters for resampling by a rational factor: a Kaiser-windowed sinc, cut into one row of taps for each phase
 * (Crochiere and Rabiner, "Multirate Digital Signal Processing", 1983; window by Kaiser, 1974).
 */
export interface SincTable {
  /** Output samples for every `step` input samples, in lowest terms. */
  readonly phases: number;
  readonly step: number;
  /** Rows held: `phases`, or MAX_ROWS where there are more phases and each takes the nearest row below. */
  readonly rows: number;
  /** Taps of a row, a multiple of 4. */
  readonly taps: number;
  /** The filter's delay in input samples. */
  readonly delay: number;
  /** `rows` rows of `taps` whole numbers, scaled by SINC_SCALE and each summing to it; oldest sample first. */
  readonly coefficients: Float64Array;
}

/**
 * Coefficients are whole numbers. Samples times coefficients then sum without any rounding in double precision
 * (2^15 * 2^24 * 4 is far below 2^53), so that every machine and every order of summing gives the same bits.
 */
export const SINC_SCALE = 2 ** 24;

/** Zero crossings of the sinc on either side of its middle, at the lower of the two rates. */
const HALF_CROSSINGS = 32;
const STOPBAND_DB = 84;
/** Any pair of the rates in use has fewer phases; odder pairs trade some noise (-70 dB) for a bounded table. */
const MAX_ROWS = 1280;
/** Tables kept: a server meets few pairs of rates, a hostile one many. */
const MAX_TABLES = 24;

const tables = new Map<string, SincTable>();

/** The table for a pair of whole rates in Hz; the most recently used ones are kept. */
export function sincTable(fromHz: number, toHz: number): SincTable {
  const key = `${fromHz}:${toHz}`;
  const table = tables.get(key) ?? designTable(fromHz, toHz);
  tables.delete(key);
  tables.set(key, table);
  if (tables.size > MAX_TABLES) tables.delete(tables.keys().next().value!);
  return table;
}

function designTable(fromHz: number, toHz: number): SincTable {
  const divisor = greatestCommonDivisor(fromHz, toHz);
  const phases = toHz / divisor;
  const step = fromHz / divisor;
  const rows = Math.min(phases, MAX_ROWS);
  // Input samples for each sample at the lower rate.
  const stretch = Math.max(1, step / phases);
  const halfWidth = HALF_CROSSINGS * stretch;
  // With small steps, a delay that is whole at the output too.
  const delay = step <= 8 ? Math.ceil(halfWidth / step) * step : Math.ceil(halfWidth);
  const taps = Math.ceil((delay + halfWidth) / 4) * 4;
  const { cutoff, beta } = kaiserDesign();

  const coefficients = new Float64Array(rows * taps);
  const edge = besselI0(beta);
  for (let row = 0; row < rows; row++) {
    const values = coefficients.subarray(row * taps, (row + 1) * taps);
    for (let tap = 0; tap < taps; tap++) {
      const time = row / rows + (taps - 1 - tap) - delay;
      const place = time / halfWidth;
      if (Math.abs(place) >= 1) continue;
      const window = besselI0(beta * Math.sqrt(1 - place * place)) / edge;
      values[tap] = sinc((cutoff * time) / stretch) * window;
    }
    toWholeNumbers(values);
  }
  return { phases, step, rows, taps, delay, coefficients };
}

/** Cut-off (1 is the lower rate's Nyquist frequency) and window shape: the stop band begins at that frequency. */
function kaiserDesign(): { cutoff: number; beta: number } {
  const transition = (STOPBAND_DB - 8) / (2.285 * 2 * HALF_CROSSINGS * Math.PI);
  return { cutoff: 1 - transition / 2, beta: 0.1102 * (STOPBAND_DB - 8.7) };
}

/** Scales a row to sum to SINC_SCALE exactly: every phase passes a constant unchanged. */
function toWholeNumbers(row: Float64Array): void {
  const scale = SINC_SCALE / row.reduce((sum, value) => sum + value, 0);
  let rest = SINC_SCALE;
  let largest = 0;
  for (let i = 0; i < row.length; i++) {
    row[i] = Math.round(row[i]! * scale);
    rest -= row[i]!;
    if (row[i]! > row[largest]!) largest = i;
  }
  row[largest]! += rest;
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** Modified Bessel function of the first kind, order 0, by its power series. */
function besselI0(x: number): number {
  const quarter = (x * x) / 4;
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= quarter / (k * k);
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
