import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import type { Core } from '../core.js';

/** The action by which the model notes the wish. */
export const DO_NOT_CALL = 'do_not_call';

export const DO_NOT_CALL_NOTED =
  'Noted: the number will not be called again. Tell the user so in one short sentence, and say goodbye.';

export function doNotCallTool(): ToolSpec {
  return {
    name: DO_NOT_CALL,
    description:
      'Puts the number of the user on the do-not-call list. Use it when the user does not want to be called again or ' +
      'asks to be taken off a list, and not when a call merely comes at a bad time.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  };
}

export function isDoNotCall(core: Core, call: ToolCall): boolean {
  return core.config.doNotCall && call.name === DO_NOT_CALL;
}

/** Tells whoever keeps the list, once. */
export function noteDoNotCall(core: Core, by: 'rule' | 'model'): void {
  if (core.state.doNotCall) return;
  core.state.doNotCall = true;
  core.emit({ type: 'doNotCall', by });
}
