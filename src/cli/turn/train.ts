import { PROSODIC_FEATURES, type ProsodicFeatures } from '../../audio/dsp/prosody.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { Random } from '../../base/random.js';
import { prosodicProbability, type ProsodicModel } from '../../providers/turn/prosodic.js';
import { type JudgedPause, type ModelVerdict, verdictOn } from './judge-model.js';
import { readFile } from 'node:fs/promises';
import * as z from 'zod';

/** With fewer pauses the interval says nothing: 14 excerpts of meetings (53 pauses) gave an AUC of 0.32 to 0.65. */
export const LEAST_PAUSES = 1000;
const LEAST_OF_A_LABEL = 100;
const LEAST_SPEAKERS = 20;
const FOLDS = 5;

export interface Training {
  model: ProsodicModel;
  verdict: ModelVerdict;
  finished: number;
  continued: number;
  speakers: number;
}

/**
 * Fits a model, and judges it on speakers that were held out: five groups of speakers, each judged by a fit to the others.
 * @throws ParleyError CONFIG_INVALID for too few pauses, labels or speakers
 */
export function train(rows: readonly PauseRow[], seed: number): Training {
  const finished = rows.filter(({ label }) => label === 'finished').length;
  const continued = rows.length - finished;
  const groups = groupsOf(rows, seed);
  const speakers = groups.size;
  const need = (what: string, count: number, least: number): void => {
    if (count < least)
      throw new ParleyError('CONFIG_INVALID', {
        reason: `${String(count)} ${what}, and at least ${String(least)} are needed`,
      });
  };
  need('labelled pauses', rows.length, LEAST_PAUSES);
  need('pauses in which the user had finished', finished, LEAST_OF_A_LABEL);
  need('pauses after which the user continued', continued, LEAST_OF_A_LABEL);
  need('speakers', speakers, LEAST_SPEAKERS);
  const judged: JudgedPause[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const fit = fitOf(rows.filter(({ speaker }) => groups.get(speaker) !== fold));
    for (const row of rows.filter(({ speaker }) => groups.get(speaker) === fold)) {
      const { speaker, label, pauseMs, features } = row;
      const probability = prosodicProbability(fit, features);
      judged.push({ speaker, isFinished: label === 'finished', pauseMs, probability });
    }
  }
  const verdict = verdictOn(judged, seed);
  const { mean, deviation, weights, bias } = fitOf(rows);
  const { value, low, high } = verdict.auc;
  const model: ProsodicModel = {
    format: 'parley-prosody-1',
    features: PROSODIC_FEATURES as unknown as ProsodicModel['features'],
    mean,
    deviation,
    weights,
    bias,
    trained: { pauses: rows.length, speakers, auc: [value, low, high] },
  };
  return { model, verdict, finished, continued, speakers };
}

function fitOf(rows: readonly PauseRow[]): Fit {
  return fitLogistic(
    rows.map(inputOf),
    rows.map(({ label }) => (label === 'finished' ? 1 : 0)),
  );
}

function inputOf({ features }: PauseRow): number[] {
  return PROSODIC_FEATURES.map((name) => features[name]);
}

/** The fold of each speaker: a speaker's pauses are all in one. */
function groupsOf(rows: readonly PauseRow[], seed: number): Map<string, number> {
  const random = new Random(seed);
  const speakers = [...new Set(rows.map(({ speaker }) => speaker))].toSorted();
  const shuffled = speakers.map((speaker) => ({ speaker, at: random.next() })).toSorted((a, b) => a.at - b.at);
  return new Map(shuffled.map(({ speaker }, index) => [speaker, index % FOLDS]));
}

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

/** A line of `parley turn export`: a pause, its label and what the voice was like before it. No words. */
export const pauseRowSchema = z.object({
  /** Who must not be in training and test at once: the session's id, unless another tool knows better. */
  speaker: z.string().min(1),
  /** Ms of the session. */
  atMs: z.number(),
  label: z.enum(['finished', 'continued']),
  /** Until the user spoke on; null where they had finished. */
  pauseMs: z.number().positive().nullable(),
  // The type of an object with computed names has none of them.
  features: z.object(
    Object.fromEntries(PROSODIC_FEATURES.map((name) => [name, z.number()])),
  ) as unknown as z.ZodType<ProsodicFeatures>,
});

export type PauseRow = z.infer<typeof pauseRowSchema>;

/** @throws ParleyError FILE_NOT_READABLE, CONFIG_INVALID naming the line */
export async function readPauseRows(path: string): Promise<PauseRow[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  });
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const place = `${path}, line ${String(index + 1)}`;
    try {
      const row = pauseRowSchema.parse(JSON.parse(line));
      if ((row.label === 'continued') !== (row.pauseMs !== null)) throw new Error('pauseMs does not fit the label');
      return [row];
    } catch (error) {
      const [issue] = error instanceof z.ZodError ? error.issues : [];
      const reason = issue === undefined ? reasonOf(error) : `${issue.path.join('.')}: ${issue.message}`;
      throw new ParleyError('CONFIG_INVALID', { reason: `${place}: ${reason}` }, { cause: error });
    }
  });
}
