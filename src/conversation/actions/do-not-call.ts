import * as speech from '../speech/agent-speech.js';
import type { Core, RunningAction } from '../core.js';
import { phrasesFor } from '../language/phrases.js';
import { beginEnding } from '../reply/ending.js';
import { cancelReply } from '../reply/reply.js';
import { dropSpeculation } from '../reply/speculation-drop.js';
import { asksNotToBeCalled } from './do-not-call-phrases.js';

/**
 * The request not to be called again. Rules find explicit words and acknowledge them at once, without the model; the
 * model finds other requests.
 */
export const doNotCall: RunningAction = {
  kind: 'running',
  name: 'do_not_call',
  takesLine: false,
  isEnabled: (config) => config.doNotCall,
  tool: () => ({
    name: 'do_not_call',
    description:
      'Puts the number of the user on the do-not-call list. Use it when the user does not want to be called again or ' +
      'asks to be taken off a list, and not when a call merely comes at a bad time.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  }),
  start: (core) => noteDoNotCall(core, 'model'),
  resultAtOnce: () =>
    'Noted: the number will not be called again. Tell the user so in one short sentence, and say goodbye.',
};

/** Acknowledges a turn that explicitly asks not to be called again, and ends the call. Returns whether it was one. */
export function takesOffList(core: Core, text: string): boolean {
  if (!core.config.doNotCall || core.state.doNotCall || !asksNotToBeCalled(text, core.language)) return false;
  dropSpeculation(core, 'the end');
  cancelReply(core);
  noteDoNotCall(core, 'rule');
  speech.say(core, phrasesFor(core.language).doNotCall, { kind: 'goodbye' });
  beginEnding(core, { status: 'agent-ended', reversible: true, call: null });
  return true;
}

/** Adds the number to the do-not-call list, once. */
function noteDoNotCall(core: Core, by: 'rule' | 'model'): void {
  if (core.state.doNotCall) return;
  core.state.doNotCall = true;
  core.emit({ type: 'doNotCall', by });
}
