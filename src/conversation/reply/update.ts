import type { Core } from '../core.js';
import { dropSpeculation } from './early.js';
import type { CommandOf } from '../control/command.js';
import { done, open, refuse } from '../control/outcome.js';

/** Other settings of the agent, from its next reply on. */

export function update(core: Core, { id, update: number, settings }: CommandOf<'command.update'>): void {
  open(core, id, 'other');
  core.state.updates.push({ id: id ?? null, update: number, settings });
}

/** No reply is under way: the changes begin. */
export function applyUpdates(core: Core): void {
  for (const { id, update: number, settings } of core.state.updates.splice(0)) {
    dropSpeculation(core, 'other settings');
    core.change(settings);
    core.emit({ type: 'agent.update', update: number });
    done(core, id);
  }
}

/** A change that has not begun is not wanted any more. */
export function withdrawUpdate(core: Core, id: number): void {
  const { updates } = core.state;
  const at = updates.findIndex((one) => one.id === id);
  if (at < 0) return;
  updates.splice(at, 1);
  refuse(core, id, 'withdrawn');
}
