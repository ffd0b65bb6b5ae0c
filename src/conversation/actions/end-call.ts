import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { textArgument } from './call-arguments.js';
import type { EndCallConfig } from '../config.js';

/** The action by which the model hangs up. */
export const END_CALL = 'end_call';

export function endCallTool(config: EndCallConfig): ToolSpec {
  const goodbye =
    config.messages.length > 0
      ? 'A goodbye is spoken for you: do not say one yourself.'
      : 'Say goodbye in `message`, in the language of the conversation.';
  const when = config.instruction ?? 'Use it when the conversation has come to its end.';
  return {
    name: END_CALL,
    description: `Ends the call. ${when} ${goodbye}`,
    parameters: {
      type: 'object',
      properties: { message: { type: 'string', description: 'The last words to the user.' } },
      additionalProperties: false,
    },
  };
}

/** The goodbye that the model put into the call, if it is readable. */
export function goodbyeOf(call: ToolCall): string | null {
  return textArgument(call.arguments, 'message');
}
