/** Logistic regression by Newton's method, with a penalty on the weights (L2). Deterministic. */

interface Standardised {
  mean: number[];
  deviation: number[];
}

export interface Fit extends Standardised {
  /** Of the features in deviations from their mean. */
  weights: number[];
  bias: number;
}

const PENALTY = 1;
const STEPS = 25;
const DONE = 1e-8;

/** @param rows one array of features per item; @param labels 1 or 0 for each */
export function fitLogistic(rows: readonly (readonly number[])[], labels: readonly number[]): Fit {
  const { mean, deviation } = standardised(rows);
  const inputs = rows.map((row) => [...row.map((value, at) => (value - (mean[at] ?? 0)) / (deviation[at] ?? 1)), 1]);
  const size = mean.length + 1;
  let weights = zeros(size);
  for (let step = 0; step < STEPS; step++) {
    const gradient = zeros(size);
    const hessian = Array.from({ length: size }, () => zeros(size));
    for (const [index, input] of inputs.entries()) {
      const probability = sigmoid(dot(input, weights));
      const error = probability - (labels[index] ?? 0);
      const curve = probability * (1 - probability);
      for (let a = 0; a < size; a++) {
        const [value, line] = [input[a] ?? 0, hessian[a] ?? []];
        gradient[a] = (gradient[a] ?? 0) + error * value;
        for (let b = 0; b <= a; b++) line[b] = (line[b] ?? 0) + curve * value * (input[b] ?? 0);
      }
    }
    for (let a = 0; a < size; a++) {
      const [line, isBias] = [hessian[a] ?? [], a === size - 1];
      for (let b = 0; b < a; b++) (hessian[b] ?? [])[a] = line[b] ?? 0;
      line[a] = (line[a] ?? 0) + (isBias ? 1e-9 : PENALTY);
      if (!isBias) gradient[a] = (gradient[a] ?? 0) + PENALTY * (weights[a] ?? 0);
    }
    const change = solved(hessian, gradient);
    weights = weights.map((weight, at) => weight - (change[at] ?? 0));
    if (Math.max(...change.map(Math.abs)) < DONE) break;
  }
  return { mean, deviation, weights: weights.slice(0, -1), bias: weights.at(-1) ?? 0 };
}

function standardised(rows: readonly (readonly number[])[]): Standardised {
  const width = rows[0]?.length ?? 0;
  const mean = zeros(width);
  for (const row of rows) for (const [at, value] of row.entries()) mean[at] = (mean[at] ?? 0) + value / rows.length;
  const variance = zeros(width);
  for (const row of rows) {
    for (const [at, value] of row.entries())
      variance[at] = (variance[at] ?? 0) + (value - (mean[at] ?? 0)) ** 2 / rows.length;
  }
  return { mean, deviation: variance.map((value) => Math.sqrt(value) || 1) };
}

/** Gaussian elimination with pivots. */
function solved(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((line, at) => [...line, right[at] ?? 0]);
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    const rest = rows.slice(column);
    const best = column + rest.reduce((top, row, at) => (abs(row, column) > abs(rest[top], column) ? at : top), 0);
    [rows[column], rows[best]] = [rows[best] ?? [], rows[column] ?? []];
    const pivot = rows[column] ?? [];
    for (const [at, row] of rows.entries()) {
      if (at === column) continue;
      const factor = (row[column] ?? 0) / nonzero(pivot[column]);
      for (let cell = column; cell <= size; cell++) row[cell] = (row[cell] ?? 0) - factor * (pivot[cell] ?? 0);
    }
  }
  return rows.map((row, at) => (row[size] ?? 0) / nonzero(row[at]));
}

function abs(row: readonly number[] | undefined, column: number): number {
  return Math.abs(row?.[column] ?? 0);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

function zeros(length: number): number[] {
  return Array.from({ length }, () => 0);
}

/** A pivot of 0 is a feature that never varies; its weight is then as good as any. */
function nonzero(value: number | undefined): number {
  return value === undefined || value === 0 ? 1e-12 : value;
}
