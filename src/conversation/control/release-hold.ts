import type { Core } from '../core.js';

/** The user is on the line again. @returns whether they were on hold */
export function releaseHold(core: Core): boolean {
  if (core.state.hold === null) return false;
  core.state.hold = null;
  core.disarm('hold');
  core.emit({ type: 'line.unhold' });
  return true;
}
