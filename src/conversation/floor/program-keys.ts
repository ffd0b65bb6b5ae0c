import { keysIn } from '../actions/press-digits.js';
import type { Core } from '../core.js';
import { onAgentSpoke } from './inactivity.js';
import { agentHasSomethingToSay } from '../reply/reply.js';
import type { CommandOf } from '../control/command.js';
import { done, open, refuse } from '../control/outcome.js';

/** Keys that a program presses. Tones and speech cannot overlap: the keys follow the words. */

/** Longest wait for the end of speech and for the keys. */
const LONGEST_MS = 120_000;

export function press(core: Core, { id, digits }: CommandOf<'command.press'>): void {
  const { ending, transfer, hold, press: other } = core.state;
  const keys = keysIn(digits);
  const why =
    keys === null
      ? 'keysInvalid'
      : ending !== null
        ? 'ending'
        : transfer !== null
          ? 'transferring'
          : hold !== null
            ? 'held'
            : other !== null
              ? 'pressing'
              : null;
  if (why !== null || keys === null) {
    refuse(core, id, why ?? 'keysInvalid');
    return;
  }
  open(core, id, 'other');
  core.state.press = { id: id ?? null, digits: keys, callId: null };
  core.arm('press', core.nowMs + LONGEST_MS);
}

/** Presses once all queued speech has been heard. */
export function settlePress(core: Core): void {
  const { press: keys } = core.state;
  if (keys?.callId !== null || agentHasSomethingToSay(core) || core.isLineTaken) return;
  keys.callId = `press-${String(core.newId())}`;
  core.emit({ type: 'digits.send', callId: keys.callId, digits: keys.digits });
}

/** Takes the result of the keys. Returns whether it was theirs. */
export function onPressed(core: Core, callId: string, ok: boolean, content: string): boolean {
  const { press: keys } = core.state;
  if (keys?.callId !== callId) return false;
  onAgentSpoke(core, 'reply');
  end(core);
  if (ok) done(core, keys.id);
  else refuse(core, keys.id, 'failed', content);
  return true;
}

export function onPressDue(core: Core): void {
  const { press: keys } = core.state;
  end(core);
  if (keys !== null) refuse(core, keys.id, 'failed', 'the keys were not pressed in time');
}

/** Keys that were not pressed yet are not wanted any more. */
export function withdrawPress(core: Core, id: number): void {
  const { press: keys } = core.state;
  if (keys?.id !== id || keys.callId !== null) return;
  end(core);
  refuse(core, id, 'withdrawn');
}

function end(core: Core): void {
  core.state.press = null;
  core.disarm('press');
}
