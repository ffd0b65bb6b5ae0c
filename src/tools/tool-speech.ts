import type { ToolSpec } from '../agent/chat.js';
import type { AgentFunction } from '../agent/function.js';
import { type Variables, fillVariables } from '../agent/variables.js';
import type { ToolSpeech } from './tool.js';

/** What the agent says around a function, from its configuration. */
export function toolSpeech(
  fn: Pick<AgentFunction, 'messages' | 'response_mode'> & Partial<Pick<AgentFunction, 'execute_after_message'>>,
  variables: Variables,
): ToolSpeech {
  return {
    messages: (fn.messages ?? [])
      .map((message) => fillVariables(message, variables))
      .filter((message) => message.trim() !== ''),
    responseMode: fn.response_mode ?? 'strict',
    executeAfterMessage: fn.execute_after_message ?? false,
  };
}

/** The spec with the message added: a model that phrases the message has to know its content. */
export function announcedSpec(spec: ToolSpec, speech: ToolSpeech | undefined): ToolSpec {
  if (speech?.responseMode !== 'flexible' || speech.messages.length === 0) return spec;
  const examples = speech.messages.map((message) => JSON.stringify(message)).join(' or ');
  const hint =
    'Before you call it, tell the user so in one short sentence of your own, in the language of the conversation, ' +
    `to the effect of ${examples}.`;
  return { ...spec, description: `${spec.description} ${hint}`.trim() };
}
