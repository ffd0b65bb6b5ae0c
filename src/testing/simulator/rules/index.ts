import { DeadAir } from './dead-air.js';
import { deadlines } from './deadlines.js';
import { EndsOnce } from './ends-once.js';
import { Floor } from './floor.js';
import { HeardHistory } from './heard-history.js';
import { Holds, type RuleMaker } from './rule.js';
import { Requests } from './requests.js';
import { Timing } from './timing.js';

/** What holds whatever a session does, events in impossible orders and at impossible times among it. */
export const CORE_RULES: readonly RuleMaker[] = [
  deadlines,
  (config) => new Requests(config),
  () => new Holds(),
  (config) => new EndsOnce(config),
];

/** Everything that holds in every conversation of a session that keeps to the rules itself. */
export const RULES: readonly RuleMaker[] = [
  ...CORE_RULES,
  (config) => new Floor(config),
  () => new HeardHistory(),
  (config) => new DeadAir(config),
  (config) => new Timing(config),
];
