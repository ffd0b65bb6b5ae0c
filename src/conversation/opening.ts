import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { startReply } from './reply.js';

/** How the conversation begins: the agent greets, or waits for the user, but not for ever. */

export function onLineOpened(core: Core): void {
  const { opening } = core.config;
  if (opening.userStarts) core.arm('opening', core.nowMs + opening.userStartTimeoutMs);
  else open(core);
}

/** The user did not begin. */
export function onOpeningDue(core: Core): void {
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
