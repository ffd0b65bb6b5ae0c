import { DEFAULT_CONVERSATION } from '../../agent/flow/conversation-config.js';
import { silenceNeededMs } from '../../conversation/turn/endpointing.js';
import { Random } from '../../base/random.js';

/** How good probabilities of speakers that a model has not heard are, beside plain silence, which knows nothing. */

/** A pause with a probability from a model that was trained without its speaker. */
export interface JudgedPause {
  speaker: string;
  isFinished: boolean;
  /** Null where the user had finished. */
  pauseMs: number | null;
  probability: number;
}

/** A figure with its 95 % interval. */
export interface Interval {
  value: number;
  low: number;
  high: number;
}

/** Mean delays of ended turns, ms, at as many false cut-offs. */
export interface Delay {
  model: number;
  silence: number;
}

interface Figures {
  auc: number;
  /** For each of `CUTS`. */
  delays: Delay[];
}

export interface ModelVerdict {
  /** That a finished turn gets the higher probability of two; 0.5 is chance. */
  auc: Interval;
  /**
   * By so many ms on average turns end sooner than after plain silence with as many false cut-offs: at 5 and 10 %, and the
   * mean of 5, 10, … 30 %.
   */
  savedMs: { at5: Interval; at10: Interval; mean: Interval };
  /** Mean delays at 10 % of false cut-offs. */
  delayMs: Delay;
  /** Why it must not be installed; null = it may. */
  refusal: string | null;
}

/** Shares of false cut-offs. */
const CUTS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3];
const NO_DELAY: Delay = { model: Number.NaN, silence: Number.NaN };
/** Draws of as many speakers, for the intervals. */
const DRAWS = 400;

export function verdictOn(pauses: readonly JudgedPause[], seed: number): ModelVerdict {
  const bySpeaker = new Map<string, JudgedPause[]>();
  for (const pause of pauses) {
    const known = bySpeaker.get(pause.speaker);
    if (known === undefined) bySpeaker.set(pause.speaker, [pause]);
    else known.push(pause);
  }
  const speakers = [...bySpeaker.values()];
  const random = new Random(seed);
  const drawn = Array.from({ length: DRAWS }, () => figuresOf(speakers.flatMap(() => random.pick(speakers))));
  const own = figuresOf(pauses);
  const interval = (of: (figures: Figures) => number): Interval => {
    const values = drawn
      .map(of)
      .filter(Number.isFinite)
      .toSorted((a, b) => a - b);
    const at = (share: number): number => values[Math.floor(share * (values.length - 1))] ?? Number.NaN;
    return { value: of(own), low: at(0.025), high: at(0.975) };
  };
  const auc = interval((figures) => figures.auc);
  const savedMs = {
    at5: interval(({ delays }) => savedIn(delays[0])),
    at10: interval(({ delays }) => savedIn(delays[1])),
    mean: interval(({ delays }) => delays.reduce((sum, delay) => sum + savedIn(delay), 0) / delays.length),
  };
  return { auc, savedMs, delayMs: own.delays[1] ?? NO_DELAY, refusal: refusalOf(auc, savedMs.mean) };
}

function figuresOf(pauses: readonly JudgedPause[]): Figures {
  return { auc: aucOf(pauses), delays: delaysOf(pauses) };
}

function savedIn({ model, silence }: Delay = NO_DELAY): number {
  return silence - model;
}

function refusalOf(auc: Interval, saved: Interval): string | null {
  if (!(auc.low > 0.5)) return `its AUC may be chance: the interval begins at ${auc.low.toFixed(3)}`;
  if (saved.low > 0) return null;
  return `it may be no sooner than plain silence: at 5 to 30 % cut-offs the interval begins at ${saved.low.toFixed(0)} ms`;
}

/** Area under the ROC curve, by ranks; ties count half. */
export function aucOf(pauses: readonly Pick<JudgedPause, 'isFinished' | 'probability'>[]): number {
  const sorted = pauses.toSorted((a, b) => a.probability - b.probability);
  let [below, sum, finished] = [0, 0, 0];
  for (let from = 0; from < sorted.length;) {
    let to = from;
    let [ends, others] = [0, 0];
    for (; to < sorted.length && sorted[to]?.probability === sorted[from]?.probability; to++) {
      if (sorted[to]?.isFinished === true) ends++;
      else others++;
    }
    sum += ends * (below + others / 2);
    below += others;
    finished += ends;
    from = to;
  }
  return sum / (finished * below);
}

/**
 * Mean delays of ended turns where the same share of the other pauses is cut off, for each of `CUTS`: each pause is waited
 * for as the core does at this score, all waits scaled alike; plain silence waits the same each time.
 */
function delaysOf(pauses: readonly JudgedPause[]): Delay[] {
  const waits = pauses.filter(({ isFinished }) => isFinished).map(({ probability }) => waitMs(probability));
  const mean = waits.reduce((sum, ms) => sum + ms, 0) / waits.length;
  const inside = pauses.filter(({ isFinished }) => !isFinished);
  const lengths = inside.map(({ pauseMs }) => pauseMs ?? 0).toSorted((a, b) => a - b);
  const scales = inside
    .map(({ pauseMs, probability }) => (pauseMs ?? 0) / waitMs(probability))
    .toSorted((a, b) => a - b);
  return CUTS.map((cut) => ({ model: upTo(scales, 1 - cut) * mean, silence: upTo(lengths, 1 - cut) }));
}

function waitMs(probability: number): number {
  const score = {
    completeness: Math.min(0.95, probability),
    dictating: false,
    rhythmMs: 0,
    slowness: 1,
    wordless: false,
  };
  return silenceNeededMs(score, DEFAULT_CONVERSATION.endpointing);
}

/** The least of sorted values that is no smaller than this share of them. */
function upTo(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}
