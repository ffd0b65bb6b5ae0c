import type { Core } from '../core.js';
import * as floor from './floor.js';
import { onUserActive } from './inactivity.js';
import * as interruption from './interruption.js';
import { agentHasSomethingToSay } from '../reply/reply.js';

/** Keys that the user presses: gathered until `#` or a pause, then they are a turn. */

/** How long after the last key a row of digits without `#` is over. */
const PAUSE_MS = 2000;
/** A longer row is none that a person keys in. */
const MAX_DIGITS = 64;

export function onDigits(core: Core, digits: string): void {
  const keys = digits.replaceAll(/[^\d*#A-D]/gi, '');
  if (keys === '') return;
  onUserActive(core);
  // A key is no noise: it takes the floor at once.
  if (agentHasSomethingToSay(core) && interruption.mayInterrupt(core)) interruption.confirm(core);
  for (const key of keys) {
    if (key !== '#') core.state.digits += key;
    else if (core.state.digits === '')
      floor.takeTyped(core, key); // "press # to confirm"
    else commit(core);
    if (core.state.digits.length >= MAX_DIGITS) commit(core);
  }
  if (core.state.digits !== '') {
    core.arm('digits', core.nowMs + PAUSE_MS + core.config.endpointing.numberInputDelayMs);
  }
}

/** The row is over. */
export function commit(core: Core): void {
  const { digits } = core.state;
  core.state.digits = '';
  core.disarm('digits');
  if (digits !== '') floor.takeTyped(core, digits);
}
