import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import type { KeypadConfig } from '../../agent/flow/actions.js';
import type { RunningAction } from '../core.js';
import * as speech from '../speech/agent-speech.js';
import { argumentOf } from './call-arguments.js';

/** Longest row of keys that a phone menu asks for. */
const MAX_KEYS = 64;

/** The model presses keys, for example in a phone menu. Tones and speech cannot overlap: the keys follow the words. */
export const pressDigits: RunningAction = {
  kind: 'running',
  name: 'press_digits',
  takesLine: true,
  isEnabled: (config) => config.keypad.enabled,
  tool: (config) => pressDigitsTool(config.keypad),
  onCall: (reply, call) => {
    if (keysOf(call) !== null) reply.pressed = true;
  },
  start: (core, call) => {
    const digits = keysOf(call);
    if (digits === null) return;
    speech.playOut(core);
    core.emit({ type: 'digits.send', callId: call.id, digits });
  },
  resultAtOnce: (core, call) => {
    if (keysOf(call) !== null) return null;
    core.trace('digits.refused', { callId: call.id });
    return 'Nothing was pressed: `digits` may hold 0-9, *, #, A-D and w only, and needs a key.';
  },
};

function pressDigitsTool({ instruction }: KeypadConfig): ToolSpec {
  const when = instruction ?? 'Use it where a phone menu asks for a key or a number.';
  return {
    name: pressDigits.name,
    description: `Presses keys of the phone. ${when} Then say nothing and listen, unless somebody waits for an answer.`,
    parameters: {
      type: 'object',
      properties: {
        digits: {
          type: 'string',
          description: 'The keys in order: 0-9, *, #, A-D; w waits for half a second.',
        },
      },
      required: ['digits'],
      additionalProperties: false,
    },
  };
}

/** The keys of a call, one character each, `w` in lower case; null if they are not valid. */
function keysOf(call: ToolCall): string | null {
  const value = argumentOf(call.arguments, 'digits');
  return typeof value === 'string' || typeof value === 'number' ? keysIn(String(value)) : null;
}

/** Keys in any notation, one character each, `w` in lower case; null if they are not valid. */
export function keysIn(digits: string): string | null {
  const keys = digits
    .replaceAll(/[\s.()-]/g, '')
    .toUpperCase()
    .replaceAll('W', 'w');
  return keys.length <= MAX_KEYS && /^w*[\d*#A-D][\d*#A-Dw]*$/.test(keys) ? keys : null;
}
