import type { ToolSpec } from '../../agent/chat.js';
import type { EndCallConfig } from '../../agent/flow/actions.js';
import type { Core, FinalAction } from '../core.js';
import { phrasesFor } from '../language/phrases.js';
import { wordsOf } from '../language/words.js';
import { beginEnding } from '../reply/ending.js';
import { replyEntry } from '../reply/reply.js';
import * as speech from '../speech/agent-speech.js';
import { addToolCall, assistantAt, setToolResult, spokenText } from '../speech/history.js';
import { holdsFarewell } from '../turn/acknowledgements.js';
import { textArgument } from './call-arguments.js';

/** The model hangs up. Real words of the user over the goodbye reopen the call. */
export const endCall: FinalAction = {
  kind: 'final',
  name: 'end_call',
  isEnabled: (config) => config.endCall.enabled,
  tool: (config) => endCallTool(config.endCall),
  begin: (core, reply, call) => {
    const entry = replyEntry(core, reply);
    reply.acted = true;
    addToolCall(core, entry, call);
    setToolResult(core, entry, call.id, 'The call is being ended.');
    const goodbye = goodbyeOf(core, entry, textArgument(call.arguments, 'message'));
    if (goodbye !== null) speech.say(core, goodbye, { kind: 'goodbye', entry });
    beginEnding(core, { status: 'agent-ended', reversible: true, call: { entry, callId: call.id } });
  },
};

function endCallTool(config: EndCallConfig): ToolSpec {
  const goodbye =
    config.messages.length > 0
      ? 'A goodbye is spoken for you: do not say one yourself.'
      : 'Say goodbye in `message`, in the language of the conversation.';
  const when = config.instruction ?? 'Use it when the conversation has come to its end.';
  return {
    name: endCall.name,
    description: `Ends the call. ${when} ${goodbye}`,
    parameters: {
      type: 'object',
      properties: { message: { type: 'string', description: 'The last words to the user.' } },
      additionalProperties: false,
    },
  };
}

/** @param ownWords the goodbye in the model's call; null = none that can be read */
function goodbyeOf(core: Core, entry: number, ownWords: string | null): string | null {
  const phrase = core.choose('goodbye', core.config.endCall.messages);
  return phrase === null ? ownGoodbye(core, entry, ownWords) : unlessSaid(core, entry, phrase);
}

/** Does not repeat a goodbye that the model has just said word for word. */
function unlessSaid(core: Core, entry: number, phrase: string): string | null {
  const said = wordsOf(spokenText(assistantAt(core, entry), true)).join(' ');
  return ` ${said} `.includes(` ${wordsOf(phrase).join(' ')} `) ? null : phrase;
}

/** The model's goodbye, unless it has said one in addition to the call; a standard one if it said nothing. */
function ownGoodbye(core: Core, entry: number, ownWords: string | null): string | null {
  const { language } = core;
  const said = spokenText(assistantAt(core, entry), true);
  if (ownWords !== null && !holdsFarewell(said, language)) return ownWords;
  return said === '' ? phrasesFor(language).goodbye : null;
}
