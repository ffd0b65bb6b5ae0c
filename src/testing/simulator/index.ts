export { generate } from './generate.js';
export { seedOf } from '../../base/random.js';
export { type Act, type Script, stageFor, toSource } from './script.js';
export { shrink } from './shrink.js';
export { type SimulationFailure, type Outcome, simulate } from './simulate.js';
