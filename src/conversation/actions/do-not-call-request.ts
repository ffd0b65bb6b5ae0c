import * as speech from '../reply/agent-speech.js';
import type { Core } from '../core.js';
import { noteDoNotCall } from './do-not-call.js';
import { asksNotToBeCalled } from './do-not-call-phrases.js';
import { beginEnding } from '../floor/ending.js';
import { phrasesFor } from '../language/phrases.js';
import { cancelReply } from '../reply/reply.js';
import { dropSpeculation } from '../reply/speculation-drop.js';

/**
 * A wish not to be called again. Plain words are found by rules and acknowledged at once, without the model; what is put
 * less plainly the model is to notice.
 */

/** A turn that plainly asks not to be called again is acknowledged, and the call ends. Returns whether it was one. */
export function takesOffList(core: Core, text: string): boolean {
  if (!core.config.doNotCall || core.state.doNotCall || !asksNotToBeCalled(text, core.language)) return false;
  dropSpeculation(core, 'the end');
  cancelReply(core);
  noteDoNotCall(core, 'rule');
  speech.say(core, phrasesFor(core.language).doNotCall, { kind: 'goodbye' });
  beginEnding(core, { status: 'agent-ended', reversible: true, call: null });
  return true;
}
