import { isHeard } from './silence.js';
import type { Core } from '../core.js';
import * as floor from './floor.js';
import { onUserActive } from './inactivity.js';
import * as interruption from './interruption.js';
import { agentHasSomethingToSay } from '../reply/reply.js';

/** Keys that the user presses: collected until `#` or a pause, then they are a turn. */

/** A pause of this length after the last key ends a row of digits without `#`. */
const PAUSE_MS = 2000;
/** Maximum length; people do not key in more. */
const MAX_DIGITS = 64;

export function onDigits(core: Core, digits: string): void {
  const keys = digits.replaceAll(/[^\d*#A-D]/gi, '');
  if (keys === '' || !isHeard(core)) return;
  onUserActive(core);
  // A key is deliberate: it takes the floor at once.
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

/** The row is complete. */
export function commit(core: Core): void {
  const { digits } = core.state;
  core.state.digits = '';
  core.disarm('digits');
  if (digits !== '') floor.takeTyped(core, digits);
}
