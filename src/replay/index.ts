export { type EventLog, readLog } from './read-log.js';
export { type Difference, replay, type Replayed } from './replay.js';
export { type PlayedDecision, type PlayedTurn, type WhatIf, whatIf } from './what-if.js';
