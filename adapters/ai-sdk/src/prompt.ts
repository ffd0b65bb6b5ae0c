import type { ChatMessage, LlmRequest, ToolCall } from '@parley-voice/parley';
import type { AiSdkCall, AiSdkMessage } from './model.js';

/** Stand where the other side has said nothing: some models take only what begins and ends with the user. */
const BEGINNING = '[The conversation begins.]';
const SILENCE = '[The user says nothing.]';
const NO_RESULT = 'Interrupted before its result was known.';

/** A request as a model of the AI SDK takes it. */
export function callOf(request: LlmRequest): Omit<AiSdkCall, 'abortSignal'> {
  const { messages, tools, temperature, requiredTool } = request;
  return {
    prompt: promptOf(messages),
    temperature,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        name,
        description,
        inputSchema: {
          type: 'object',
          ...parameters,
        },
      })),
    }),
    ...(requiredTool !== undefined && { toolChoice: { type: 'tool' as const, toolName: requiredTool } }),
  };
}

/**
 * Messages as every vendor behind the SDK takes them: what the system says first is one message, the rest of it stands
 * with the user's; nothing is empty; each call of a tool has its result right behind it, and each result its call.
 */
export function promptOf(messages: readonly ChatMessage[]): AiSdkMessage[] {
  const begins = messages.findIndex(({ role }) => role !== 'system');
  const opening = begins < 0 ? messages : messages.slice(0, begins);
  const rest = begins < 0 ? [] : messages.slice(begins);
  const results = new Map<string, string>();
  for (const message of rest) if (message.role === 'tool') results.set(message.toolCallId, message.content);
  const system = opening.map(({ content }) => content).join('\n\n');
  const prompt: AiSdkMessage[] = [];
  const user = (text: string): void => {
    const last = prompt.at(-1);
    if (last?.role === 'user') last.content.push({ type: 'text', text });
    else prompt.push({ role: 'user', content: [{ type: 'text', text }] });
  };
  for (const message of rest) {
    if (message.role === 'tool') continue;
    if (message.role !== 'assistant') {
      if (message.content.trim() !== '') user(message.content);
      continue;
    }
    const calls = message.toolCalls ?? [];
    if (message.content.trim() === '' && calls.length === 0) continue;
    if (prompt.length === 0) user(BEGINNING);
    prompt.push(...assistant(message.content, calls, results));
  }
  if (prompt.length === 0) user(BEGINNING);
  if (prompt.at(-1)?.role === 'assistant') user(SILENCE);
  return system.trim() === '' ? prompt : [{ role: 'system', content: system }, ...prompt];
}

function assistant(text: string, calls: readonly ToolCall[], results: ReadonlyMap<string, string>): AiSdkMessage[] {
  const said: AiSdkMessage = {
    role: 'assistant',
    content: [
      ...(text.trim() === '' ? [] : [{ type: 'text' as const, text }]),
      ...calls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.id,
        toolName: call.name,
        input: inputOf(call.arguments),
      })),
    ],
  };
  if (calls.length === 0) return [said];
  return [
    said,
    {
      role: 'tool',
      content: calls.map(({ id, name }) => ({
        type: 'tool-result' as const,
        toolCallId: id,
        toolName: name,
        output: {
          type: 'text' as const,
          value: results.get(id) ?? NO_RESULT,
        },
      })),
    },
  ];
}

/** What the model wrote may be broken; it is shown what came of it. */
function inputOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // As below.
  }
  return {};
}
