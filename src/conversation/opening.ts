import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { mayInterruptOpening, startReply } from './reply.js';
import { OPENING_TURN } from './state.js';
import { isSpeakable } from './sentences.js';
import { isOpen } from './user-turn.js';

/** How the conversation begins: the agent greets, or waits for the user, but not for ever. */

/** Somebody may be speaking: the end of their turn decides, or it is tried again after this. */
const AGAIN_MS = 500;

export function onLineOpened(core: Core): void {
  const { opening } = core.config;
  if (opening.userStarts) core.arm('opening', core.nowMs + opening.userStartTimeoutMs);
  else open(core);
}

/** The user did not begin. */
export function onOpeningDue(core: Core): void {
  if (isOpen(core) || core.state.digits !== '') {
    core.arm('opening', core.nowMs + AGAIN_MS);
    return;
  }
  core.trace('opening.userSilent');
  open(core);
}

function open(core: Core): void {
  const { firstMessage } = core.config.opening;
  if (firstMessage !== null && isSpeakable(firstMessage)) {
    speech.say(core, firstMessage, { kind: 'opening', interruptible: mayInterruptOpening(core) });
  } else startReply(core, { text: '', number: OPENING_TURN, entry: null, interrupts: false });
}
