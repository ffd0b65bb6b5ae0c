import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import { phrasesFor } from '../language/phrases.js';
import { cancelReply, mayInterruptOpening } from './reply.js';
import type { Utterance } from '../state.js';
import * as toolCalls from './tool-calls.js';

/** Failures of the voice: an unheard message must not end in silence. */

/** Consecutive failed messages before the agent gives up: without a voice there is no call. */
export const MAX_VOICE_FAILURES = 3;
/** A message that the user awaited in silence counts twice. */
const STALL_FAILURES = 2;

export function onFinished(core: Core, utterance: Utterance): void {
  Object.assign(core.state.failures, { voice: 0, voiceEntry: null, unheard: false, again: null });
  speech.onUtteranceOver(core, utterance, false);
  toolCalls.onUtteranceOver(core, utterance.id);
}

/** The voice could not speak an utterance completely. The following ones may succeed. */
export function onFailed(core: Core, utterance: Utterance, reason: string): void {
  core.trace('speech.failed', { utteranceId: utterance.id, reason });
  fail(core, utterance);
}

/** Speech did not start or end in time. Drops the rest of its message, which would keep the user waiting as long. */
export function onStalled(core: Core): void {
  const stalled = speech.currentUtterance(core);
  if (stalled === undefined) return;
  core.trace('speech.stalled', { utteranceId: stalled.id, playing: stalled.playing });
  const { reply } = core.state;
  const isReply = reply !== null && reply.entry === stalled.entry && stalled.kind === 'reply';
  for (const utterance of Array.from(core.state.speech.queue)) {
    if (utterance.entry !== stalled.entry) continue;
    core.emit({ type: 'speak.cancel', utteranceId: utterance.id });
    fail(core, utterance, STALL_FAILURES);
  }
  if (isReply && reply.phase !== 'tools') cancelReply(core);
}

/**
 * Neither side has anything to say, and the agent's last message was not heard. A user who asked nothing is not asked
 * again.
 */
export function apologise(core: Core): void {
  const { again } = core.state.failures;
  const { fallback, greeting } = phrasesFor(core.language);
  Object.assign(core.state.failures, { unheard: false, again: null });
  if (again !== null) {
    const { text, marked = text, kind, interruptible } = again;
    speech.say(core, marked, { kind, interruptible, again: true });
  } else if (!core.state.history.some(({ role }) => role === 'user')) {
    speech.say(core, greeting, { kind: 'fallback', interruptible: mayInterruptOpening(core) });
  } else speech.say(core, fallback, { kind: 'fallback' });
}

function fail(core: Core, utterance: Utterance, weight = 1): void {
  const { failures } = core.state;
  // All failures of one message count once.
  if (failures.voiceEntry !== utterance.entry) failures.voice += weight;
  failures.voiceEntry = utterance.entry;
  failures.unheard = true;
  const isAnswer = utterance.kind !== 'opening' && utterance.kind !== 'announcement';
  if (!isAnswer && !utterance.again) failures.again = utterance;
  speech.onUtteranceOver(core, utterance, true);
  toolCalls.onUtteranceOver(core, utterance.id);
}
