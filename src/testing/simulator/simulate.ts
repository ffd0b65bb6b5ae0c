import type { ConversationState } from '../../conversation/state.js';
import { mergeConfig } from '../../agent/flow/conversation-config.js';
import type { Stage, StageWatcher } from '../../stage/stage.js';
import { check, RuleBroken, type Rule, Holds, type RuleMaker } from './rules/rule.js';
import { type Script, stageFor } from './script.js';
import { DeadAir, EndsOnce, pendingHasDeadline, Timing } from './rules/timing.js';
import { Floor } from './rules/floor.js';
import { HeardHistory } from './rules/heard-history.js';
import { Requests } from './rules/requests.js';
import { Steering } from './rules/steering.js';
import { KeepsToSteps } from './rules/steps.js';

/** The result of one conversation. */
export interface Outcome {
  steps: number;
  /** Length in virtual time. */
  lengthMs: number;
  /** Null = every rule held at every step. */
  failure: SimulationFailure | null;
}

export interface SimulationFailure {
  /** The broken rule, or the error that was thrown. */
  rule: string;
  message: string;
  atMs: number;
  /** All events and effects up to the failure, one per line. */
  timeline: string;
}

/** Plays a script to its end and checks every rule at every step. */
export function simulate(script: Script): Outcome {
  const config = mergeConfig(script.config);
  const rules = RULES.map((make) => make(config));
  let stage: Stage | null = null;
  let steps = 0;
  const watcher: StageWatcher = {
    onStep: (atMs, event, position, effects) => {
      steps++;
      const { state, nextDeadlineMs } = (stage as Stage).conversation;
      const step = { atMs, event, position, effects, state, nextDeadlineMs };
      for (const rule of rules) rule.onStep?.(step);
    },
    onPlayed: (utteranceId, fromMs, toMs) => {
      for (const rule of rules) rule.onPlayed?.(utteranceId, fromMs, toMs);
    },
  };
  try {
    stage = stageFor(script, watcher);
    stage.playToEnd();
    expectOver(rules, stage);
    return { steps, lengthMs: stage.nowMs, failure: null };
  } catch (error) {
    if (stage === null) throw error; // the script is invalid
    return { steps, lengthMs: stage.nowMs, failure: failureOf(error, stage) };
  }
}

function expectOver(rules: readonly Rule[], { conversation, voice }: Stage): void {
  const state: Readonly<ConversationState> = conversation.state;
  check(!voice.busy, 'nothing is left to play at the end');
  for (const rule of rules) rule.onEnd?.(state);
}

function failureOf(error: unknown, { nowMs, timeline }: Stage): SimulationFailure {
  const message = error instanceof Error ? error.message : String(error);
  const rule = error instanceof RuleBroken ? error.rule : (message.split('\n')[0] ?? '');
  return { rule, message: message.split('\n')[0] ?? '', atMs: nowMs, timeline: timeline.toString() };
}

/** Rules that hold for any input, including events in impossible orders and at impossible times. */
export const CORE_RULES: readonly RuleMaker[] = [
  pendingHasDeadline,
  (config) => new Requests(config),
  () => new Holds(),
  (config) => new EndsOnce(config),
  () => new Steering(),
  (config) => new KeepsToSteps(config),
];

/** All rules. They hold for input that a correct session can produce. */
const RULES: readonly RuleMaker[] = [
  ...CORE_RULES,
  (config) => new Floor(config),
  () => new HeardHistory(),
  (config) => new DeadAir(config),
  (config) => new Timing(config),
];
