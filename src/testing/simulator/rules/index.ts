import { DeadAir } from './dead-air.js';
import { deadlines } from './deadlines.js';
import { EndsOnce } from './ends-once.js';
import { Floor } from './floor.js';
import { HeardHistory } from './heard-history.js';
import { Requests } from './requests.js';
import type { RuleMaker } from './rule.js';
import { Timing } from './timing.js';

/** Everything that holds in every conversation. */
export const RULES: readonly RuleMaker[] = [
  deadlines,
  () => new Requests(),
  (config) => new EndsOnce(config),
  (config) => new Floor(config),
  () => new HeardHistory(),
  (config) => new DeadAir(config),
  (config) => new Timing(config),
];
