import { PROSODIC_FEATURES } from '../../audio/dsp/prosody.js';
import { ParleyError } from '../../base/errors.js';
import { Random } from '../../base/random.js';
import { prosodicProbability, type ProsodicModel } from '../../providers/turn/prosodic.js';
import { type Fit, fitLogistic } from './logistic.js';
import { type JudgedPause, type ModelVerdict, verdictOn } from './judge-model.js';
import type { PauseRow } from './pause-rows.js';

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
