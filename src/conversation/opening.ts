import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { startReply } from './reply.js';
import { isOpen } from './user-turn.js';

/** How the conversation begins: the agent greets, or waits for the user, but not for ever. */

const AGAIN_MS = 500;

export function onLineOpened(core: Core): void {
  const { opening } = core.config;
  if (opening.userStarts) core.arm('opening', core.nowMs + opening.userStartTimeoutMs);
  else open(core);
}

/** The user did not begin. */
export function onOpeningDue(core: Core): void {
  if (isOpen(core)) {
    core.arm('opening', core.nowMs + AGAIN_MS); // somebody may be speaking: their turn's end decides
    return;
  }
  core.trace('opening.userSilent');
  open(core);
}

function open(core: Core): void {
  const { firstMessage } = core.config.opening;
  if (firstMessage !== null) {
    const interruptible = core.config.interruption.allowed && core.config.interruption.openingAllowed;
    speech.say(core, firstMessage, { kind: 'opening', interruptible });
  } else startReply(core, { text: '', number: 0, entry: null, interrupts: false });
}
