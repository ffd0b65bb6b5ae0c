import { DeadAir, EndsOnce, pendingHasDeadline, Timing } from './timing.js';
import { Floor } from './floor.js';
import { HeardHistory } from './heard-history.js';
import { Holds, type RuleMaker } from './rule.js';
import { Requests } from './requests.js';

/** Rules that hold for any input, including events in impossible orders and at impossible times. */
export const CORE_RULES: readonly RuleMaker[] = [
  pendingHasDeadline,
  (config) => new Requests(config),
  () => new Holds(),
  (config) => new EndsOnce(config),
];

/** All rules. They hold for input that a correct session can produce. */
export const RULES: readonly RuleMaker[] = [
  ...CORE_RULES,
  (config) => new Floor(config),
  () => new HeardHistory(),
  (config) => new DeadAir(config),
  (config) => new Timing(config),
];
