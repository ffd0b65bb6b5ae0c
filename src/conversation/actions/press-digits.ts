import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import type { KeypadConfig } from '../config.js';
import type { Core } from '../core.js';
import { argumentOf } from './call-arguments.js';

/** The action by which the model presses keys: in a phone menu, say. */
export const PRESS_DIGITS = 'press_digits';

/** A longer row is none that a phone menu asks for. */
const MAX_KEYS = 64;

export function pressDigitsTool({ instruction }: KeypadConfig): ToolSpec {
  const when = instruction ?? 'Use it where a phone menu asks for a key or a number.';
  return {
    name: PRESS_DIGITS,
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

export function isPressDigits(core: Core, call: ToolCall): boolean {
  return core.config.keypad.enabled && call.name === PRESS_DIGITS;
}

/** The keys of a call, one character each and `w` in lower case; null if they are no keys. */
export function keysOf(call: ToolCall): string | null {
  const value = argumentOf(call.arguments, 'digits');
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const keys = String(value)
    .replaceAll(/[\s.()-]/g, '')
    .toUpperCase()
    .replaceAll('W', 'w');
  return keys.length <= MAX_KEYS && /^w*[\d*#A-D][\d*#A-Dw]*$/.test(keys) ? keys : null;
}

/** Keys are being sent: the agent's own tones. */
export function isPressing(core: Core): boolean {
  return core.state.tools.some(({ call, afterUtterance }) => afterUtterance === null && isPressDigits(core, call));
}
