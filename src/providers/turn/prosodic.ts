import * as z from 'zod';
import {
  PROSODIC_FEATURES,
  PROSODY_WINDOW_S,
  prosodicFeatures,
  type ProsodicFeatures,
} from '../../audio/dsp/prosody.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { readJsonFile } from '../../schema/json-file.js';
import type { TurnModel, TurnRequest } from './turn.js';

const numbers = z.array(z.number()).length(PROSODIC_FEATURES.length);

const prosodicModelSchema = z.strictObject({
  format: z.literal('parley-prosody-1'),
  features: z.tuple(PROSODIC_FEATURES.map((name) => z.literal(name)) as [z.ZodLiteral, ...z.ZodLiteral[]]),
  /** Of each feature, in the training pauses. */
  mean: numbers,
  deviation: numbers,
  /** Of the features in deviations from their mean. */
  weights: numbers,
  bias: z.number(),
  /** What it was trained on, and how it did on speakers that were held out. */
  trained: z.looseObject({ pauses: z.int(), speakers: z.int(), auc: z.array(z.number()) }),
});

/** A logistic regression over prosodic features, as `parley turn train` writes it. */
export type ProsodicModel = z.infer<typeof prosodicModelSchema>;

/** The probability that the turn is over. */
export function prosodicProbability(model: LogisticModel, features: ProsodicFeatures): number {
  return logisticProbability(
    model,
    PROSODIC_FEATURES.map((name) => features[name]),
  );
}

type LogisticModel = Readonly<Record<'mean' | 'deviation' | 'weights', readonly number[]>> & { readonly bias: number };

/** The probability of a row of features by a logistic regression over their deviations from the mean. */
export function logisticProbability({ mean, deviation, weights, bias }: LogisticModel, row: readonly number[]): number {
  const logit = row.reduce(
    (sum, value, at) => sum + (weights[at] ?? 0) * ((value - (mean[at] ?? 0)) / (deviation[at] ?? 1)),
    bias,
  );
  return 1 / (1 + Math.exp(-logit));
}

/** @throws ParleyError TURN_MODEL_UNUSABLE */
export async function readProsodicModel(path: string): Promise<ProsodicModel> {
  try {
    const parsed = prosodicModelSchema.safeParse(await readJsonFile(path));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'it is no such model'}`);
  } catch (error) {
    throw new ParleyError('TURN_MODEL_UNUSABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}

/** Latency in virtual time. */
const LATENCY_MS = 5;

/** A model that was trained on the operator's own calls. It takes a few milliseconds, so it runs where it is asked. */
export class ProsodicTurnModel implements TurnModel {
  readonly name = 'prosodic';
  readonly virtualTime = true;
  readonly windowS = PROSODY_WINDOW_S;
  readonly #path: string;
  #model: Promise<ProsodicModel> | null = null;

  constructor({ path }: { path: string }) {
    this.#path = path;
  }

  /** @throws ParleyError TURN_MODEL_UNUSABLE */
  async warmUp(): Promise<void> {
    await this.#load();
  }

  async judge({ samples, clock, signal }: TurnRequest): Promise<number> {
    signal.throwIfAborted();
    const judging = this.#load().then((model) => {
      const features = prosodicFeatures(samples);
      // Too little speech to measure: as likely as not.
      return features === null ? 0.5 : prosodicProbability(model, features);
    });
    const probability = await clock.settle(judging, clock.nowMs() + LATENCY_MS);
    signal.throwIfAborted();
    return probability;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #load(): Promise<ProsodicModel> {
    this.#model ??= readProsodicModel(this.#path).catch((error: unknown) => {
      this.#model = null;
      throw error;
    });
    return this.#model;
  }
}
