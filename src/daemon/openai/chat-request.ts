import * as z from 'zod';
import type { ChatMessage, ToolSpec } from '../../agent/chat.js';
import { earlierMessages, type messageSchema } from '../../agent/continuation.js';
import { TOOL_NAME } from '../../schema/text.js';
import type { ReplyForm } from '../../engine/options.js';
import { InvalidConfigError, type Location, parseWith } from '../../schema/issues.js';

const textSchema = z.string().max(100_000);
const partSchema = z.looseObject({ type: z.string(), text: textSchema.optional(), refusal: textSchema.optional() });
const contentSchema = z.union([textSchema, z.array(partSchema).max(1_000)]);
const callSchema = z.looseObject({
  id: z.string().min(1).max(200),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1).max(200), arguments: textSchema }),
});
const chatMessageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer', 'user']), content: contentSchema }),
  z.looseObject({
    role: z.literal('assistant'),
    content: contentSchema.nullish(),
    tool_calls: z.array(callSchema).max(128).nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), content: contentSchema, tool_call_id: z.string().min(1).max(200) }),
]);
const parametersSchema = z.record(z.string(), z.unknown());
const functionSchema = z.looseObject({
  name: z.string().regex(TOOL_NAME, 'Input should be 1 to 64 letters, digits, _ or -'),
  description: z.string().max(20_000).nullish(),
  parameters: parametersSchema.nullish(),
});
const formatSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({ type: z.literal('json_schema'), json_schema: z.looseObject({ name: z.string().min(1).max(64) }) }),
]);

/** What parley uses of a request. Members of other values are named in the answer's header, or refused below. */
const bodySchema = z.looseObject({
  model: z.string().min(1).max(200),
  messages: z.array(chatMessageSchema).max(10_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z
    .array(z.looseObject({ type: z.literal('function'), function: functionSchema }))
    .max(128)
    .nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
    ])
    .nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string().max(500), z.array(z.string().max(500)).max(4)]).nullish(),
  seed: z.int().nullish(),
  user: z.string().max(512).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  response_format: formatSchema.nullish(),
  n: z.literal(1, 'only 1 is supported').nullish(),
});

type Body = z.output<typeof bodySchema>;
type Content = z.output<typeof contentSchema>;

/** Members that ask for something that an answer would lack. */
const REFUSED: Readonly<Record<string, string>> = {
  audio: 'answers are text; a voice session is at /v1/realtime',
  function_call: 'use tool_choice',
  functions: 'use tools',
  top_logprobs: 'there are no log probabilities',
  web_search_options: 'the agent has the tools that it was given',
};

/** A request for a chat completion as the engine takes it. */
export interface ChatCompletionRequest {
  model: string;
  messages: readonly ChatMessage[];
  /** Of `system` and `developer` messages. */
  context: string;
  form: ReplyForm;
  metadata: Readonly<Record<string, unknown>>;
  /** `metadata.end_of_session`: the conversation is over with this answer. */
  endOfSession: boolean;
  isStream: boolean;
  includesUsage: boolean;
  /** Members without effect. */
  ignored: readonly string[];
}

/** @throws InvalidConfigError */
export function parseChatRequest(value: unknown): ChatCompletionRequest {
  const body = parseWith(bodySchema, value, ['body']);
  refuseOthers(body);
  const { messages, stream, stream_options: options, metadata, user } = body;
  const texts = messages.map((message, at) => textOf(message.content ?? '', ['body', 'messages', at, 'content']));
  const { end_of_session: end, ...variables } = metadata ?? {};
  const isContext = (role: string): boolean => role === 'system' || role === 'developer';
  return {
    model: body.model,
    messages: earlierMessages(messages.flatMap((message, at) => wire(message, texts[at] ?? ''))),
    context: texts.filter((_, at) => isContext(messages[at]?.role ?? '')).join('\n\n'),
    form: formOf(body),
    metadata: user == null ? variables : { user, ...variables },
    endOfSession: end === 'true',
    isStream: stream ?? false,
    includesUsage: options?.include_usage ?? false,
    ignored: Object.keys(body).filter((name) => body[name] != null && !Object.hasOwn(bodySchema.shape, name)),
  };
}

function formOf(body: Body): ReplyForm {
  const { tools, tool_choice: choice, stop, response_format: format } = body;
  const specs = choice === 'none' ? [] : (tools ?? []).map(({ function: fn }) => toolSpec(fn));
  return {
    clientTools: specs,
    requiredTool: requiredTool(choice, specs),
    temperature: body.temperature,
    seed: body.seed,
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    stop: typeof stop === 'string' ? [stop] : stop,
    responseFormat: format == null || format.type === 'text' ? null : format,
  };
}

/** A function of a client as a model gets it. */
export function toolSpec({ name, description, parameters }: z.output<typeof functionSchema>): ToolSpec {
  return { name, description: description ?? '', parameters: { type: 'object', properties: {}, ...parameters } };
}

function requiredTool(choice: Body['tool_choice'], specs: readonly ToolSpec[]): string | null {
  const place = ['body', 'tool_choice'];
  if (choice == null || choice === 'auto' || choice === 'none') return null;
  if (choice === 'required') {
    const [only, ...others] = specs;
    if (only !== undefined && others.length === 0) return only.name;
    throw fault(place, 'unsupported_value', 'required needs exactly one tool; name the function otherwise');
  }
  const { name } = choice.function;
  if (specs.some((spec) => spec.name === name)) return name;
  throw fault(place, 'value_error', `"${name.slice(0, 64)}" is not one of the tools`);
}

function refuseOthers(body: Body): void {
  for (const [name, reason] of Object.entries(REFUSED)) {
    if (body[name] != null) throw fault(['body', name], 'unsupported_parameter', `${name} is not supported: ${reason}`);
  }
  if (body['logprobs'] === true) {
    throw fault(['body', 'logprobs'], 'unsupported_parameter', 'there are no log probabilities');
  }
  const { modalities } = body;
  if (Array.isArray(modalities) && modalities.some((one) => one !== 'text')) {
    throw fault(['body', 'modalities'], 'unsupported_value', 'answers are text; a voice session is at /v1/realtime');
  }
}

/** The text of a message's parts. @throws InvalidConfigError for images, audio and files */
function textOf(content: Content, place: Location): string {
  if (typeof content === 'string') return content;
  const texts = content.map(({ type, text, refusal }, at) => {
    if (type === 'text' || type === 'refusal') return text ?? refusal ?? '';
    throw fault([...place, at, 'type'], 'unsupported_value', `${type.slice(0, 64)} is not supported: send text`);
  });
  return texts.join('\n');
}

/** A message in the form of parley's own chats; none for context. */
function wire(message: Body['messages'][number], content: string): z.output<typeof messageSchema>[] {
  if (message.role === 'user') return [{ role: 'user', content }];
  if (message.role === 'tool') return [{ role: 'tool', content, tool_call_id: message.tool_call_id }];
  if (message.role !== 'assistant') return [];
  return [{ role: 'assistant', content, tool_calls: message.tool_calls ?? null }];
}

function fault(loc: Location, type: string, msg: string): InvalidConfigError {
  return new InvalidConfigError([{ loc, msg, type }]);
}
