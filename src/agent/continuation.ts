import * as z from 'zod';
import type { ChatMessage } from './chat.js';
import { parseWith } from '../schema/issues.js';

const text = z.string().max(100_000);
const callSchema = z
  .strictObject({
    id: z.string().min(1).max(200),
    type: z.string().max(64).describe('`function`'),
    function: z.strictObject({ name: z.string().min(1).max(200), arguments: text.describe('JSON text of an object') }),
  })
  .meta({ id: 'ToolCall' });

/** A message of a conversation, as requests give it. */
export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: text }).meta({ id: 'UserMessage' }),
  z
    .strictObject({
      role: z.literal('assistant'),
      content: text,
      tool_calls: z.array(callSchema).max(128).nullish(),
      name: z.string().max(200).nullish().describe('The agent that has said it, where several spoke'),
    })
    .meta({ id: 'AssistantMessage' }),
  z
    .strictObject({ role: z.literal('tool'), content: text, tool_call_id: z.string().min(1).max(200) })
    .meta({ id: 'ToolMessage' }),
]);

/** The session that another one continues, as requests give it. */
export const continuationSchema = z.strictObject({
  session_id: z.string().min(1).max(200).nullish(),
  messages: z.array(messageSchema).max(10_000).nullish(),
  identifier_variable: z.string().min(1).max(200).nullish(),
  resume: z.boolean().nullish().describe('The same call goes on after its line broke: the agent does not greet again'),
});

export type SessionContinuation = z.infer<typeof continuationSchema>;

/** @throws InvalidConfigError naming every fault */
export function parseContinuation(value: unknown, at: readonly (string | number)[] = []): SessionContinuation {
  return parseWith(continuationSchema, value, [...at]);
}

/** The messages as a model takes them: a result without its call is left out, and so is a call without its result. */
export function earlierMessages(messages: readonly z.infer<typeof messageSchema>[]): ChatMessage[] {
  const results = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : [])));
  const calls = new Set<string>();
  return messages.flatMap((message): ChatMessage[] => {
    const { role, content } = message;
    if (role === 'user') return content === '' ? [] : [{ role, content }];
    if (role === 'tool')
      return calls.delete(message.tool_call_id) ? [{ role, content, toolCallId: message.tool_call_id }] : [];
    const made = (message.tool_calls ?? []).filter(({ id }) => results.has(id));
    for (const { id } of made) calls.add(id);
    const toolCalls = made.map(({ id, function: { name, arguments: args } }) => ({ id, name, arguments: args }));
    if (toolCalls.length > 0) return [{ role, content, toolCalls }];
    return content === '' ? [] : [{ role, content }];
  });
}
