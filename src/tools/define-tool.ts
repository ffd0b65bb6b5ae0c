import * as z from 'zod';
import type { ChatMessage } from '../agent/chat.js';
import { TOOL_NAME } from '../schema/text.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { type JsonSchema, schemaFault } from '../schema/json-schema.js';
import type { ToolSession } from './tool.js';

/** A schema library's schema (standardschema.dev), such as a zod object. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Standard JSON Schema, which says what a model should give. */
    readonly jsonSchema?: { readonly input: (options: { target: 'draft-2020-12' }) => Record<string, unknown> };
  };
}

/** What a StandardSchema's `validate` gives. */
export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The arguments of a function: a schema of zod or another library, or a JSON Schema of an object. */
export type ToolParameters = StandardSchema | Readonly<Record<string, unknown>>;

/** The arguments as `execute` gets them. Those of a plain JSON Schema have no types of their own. */
export type ToolArguments<Parameters> =
  Parameters extends StandardSchema<infer Output> ? Output : Readonly<Record<string, unknown>>;

/** What a function gets beside its arguments. */
export interface FunctionContext {
  /** The id of the session or chat. */
  sessionId: string;
  /** Null = an agent without an id. */
  agentId: string | null;
  /** The id of the model's call; null after the call. */
  callId: string | null;
  metadata: Readonly<Record<string, unknown>>;
  /** The values of `{Name}` in the agent's texts: metadata as text, `FromPhone` and `ToPhone`. */
  variables: Readonly<Record<string, string>>;
  /** The conversation until this call, without the system prompt. */
  history: readonly ChatMessage[];
  /** Aborted when the call is over or the function's deadline has passed. */
  signal: AbortSignal;
  /** Says something to the other side or moves the call. Null in writing and after the call. */
  session: ToolSession | null;
  /** Progress in a sentence. The agent says it, unless the function is `quiet`. */
  progress: (text: string) => void;
  /** Resolves after `ms` of the session's time, which is virtual in tests. Rejects with the signal's reason. */
  wait: (ms: number) => Promise<void>;
}

/** What an agent says around a function, and when the function runs. */
export interface FunctionOptions {
  /** Longest run in milliseconds. Default 5000, with `background` 600000. */
  timeoutMs?: number;
  /** Phrases of which the agent says one when the function starts. `{Name}` variables are filled in. Default none. */
  messages?: readonly string[];
  /** `strict` (default) says one of `messages` as written, `flexible` lets the model phrase it. */
  responseMode?: 'strict' | 'flexible';
  /** Start only after the phrase has been played. Default false. */
  executeAfterMessage?: boolean;
  /** Run once when the call has ended, with what is known then. Default false. */
  runAfterCall?: boolean;
  /**
   * The conversation goes on while the function runs; the model learns the outcome when it is there, and the agent speaks
   * of it at the next free moment. In writing the answer waits for it. Default false.
   */
  background?: boolean;
  /** Progress is reported to observers only, and not said. Default false. */
  quiet?: boolean;
}

/** A function that the model can call. `execute` runs in the process of its engine. */
export interface ToolDefinition<Parameters extends ToolParameters = ToolParameters> extends FunctionOptions {
  /** 1 to 64 letters, digits, `_` or `-`. */
  name: string;
  /** What it does, for the model. `{Name}` variables are filled in. */
  description: string;
  /** Default: it takes no arguments. */
  parameters?: Parameters;
  /**
   * Returns the result, or a promise of it: a text, or a value that the model gets as JSON. A generator yields progress
   * and returns the result. What it throws is told to the model in a sentence, and counts as a fault with its stack.
   */
  execute(args: ToolArguments<Parameters>, context: FunctionContext): unknown;
}

/** A checked function, whatever its arguments. */
export interface DefinedTool extends FunctionOptions {
  name: string;
  description: string;
  parameters?: ToolParameters;
  execute(args: never, context: FunctionContext): unknown;
}

/**
 * A function in code for agents: `createSession({ tools: [defineTool({ … })] })`, or in a plug-in. The types of the
 * arguments follow from the schema.
 * @throws ParleyError ARGUMENT_INVALID
 */
export function defineTool<const Parameters extends ToolParameters>(
  definition: ToolDefinition<Parameters>,
): ToolDefinition<Parameters> {
  const fault = toolFault(definition);
  if (fault !== null) throw new ParleyError('ARGUMENT_INVALID', { argument: 'defineTool', reason: fault });
  return definition;
}

const MEMBERS = [
  'name',
  'description',
  'parameters',
  'execute',
  'timeoutMs',
  'messages',
  'responseMode',
  'executeAfterMessage',
  'runAfterCall',
  'background',
  'quiet',
];

/** What is wrong with a function, such as one of a plug-in in plain JavaScript; null = nothing. */
export function toolFault(given: unknown): string | null {
  if (typeof given !== 'object' || given === null) return 'expected an object {name, description, parameters, execute}';
  const tool = given as Readonly<Record<string, unknown>>;
  const { name } = tool;
  if (typeof name !== 'string' || !TOOL_NAME.test(name)) return 'name should be 1 to 64 letters, digits, _ or -';
  const wrong = (reason: string): string => `${name}: ${reason}`;
  const unknown = Object.keys(tool).find((member) => !MEMBERS.includes(member));
  if (unknown !== undefined) return wrong(`there is no member "${unknown}"; it has ${MEMBERS.join(', ')}`);
  if (typeof tool['description'] !== 'string') return wrong('description should be a text for the model');
  if (typeof tool['execute'] !== 'function') return wrong('execute should be a function (args, context)');
  const { timeoutMs = 1, messages = [], responseMode = 'strict' } = tool;
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    return wrong(`timeoutMs should be a number of milliseconds up to ${String(MAX_TIMEOUT_MS)}`);
  }
  if (!Array.isArray(messages) || !messages.every((text) => typeof text === 'string')) {
    return wrong('messages should be a list of texts');
  }
  if (responseMode !== 'strict' && responseMode !== 'flexible')
    return wrong('responseMode should be strict or flexible');
  for (const flag of ['executeAfterMessage', 'runAfterCall', 'background', 'quiet']) {
    if (!['boolean', 'undefined'].includes(typeof tool[flag])) return wrong(`${flag} should be true or false`);
  }
  if (tool['background'] === true && tool['runAfterCall'] === true) {
    return wrong('background and runAfterCall exclude each other: after the call there is no conversation');
  }
  const { parameters } = parametersOf(tool['parameters']);
  return typeof parameters === 'string' ? wrong(parameters) : null;
}

const MAX_TIMEOUT_MS = 86_400_000;

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false };

/**
 * The JSON Schema of a function's arguments, for the model.
 * @returns a sentence where there is none
 */
export function parametersOf(given: unknown): { parameters: Readonly<Record<string, unknown>> | string } {
  if (given === undefined) return { parameters: NO_ARGUMENTS };
  const schema = isStandard(given) ? standardJsonSchema(given) : given;
  if (typeof schema === 'string') return { parameters: schema };
  const fault = schemaFault(schema);
  if (fault !== null) return { parameters: `parameters: ${fault}` };
  const { $schema: _, ...keywords } = schema as Readonly<Record<string, unknown>>;
  const { type = 'object' } = keywords;
  if (type !== 'object')
    return { parameters: 'parameters should describe an object, as JSON Schema or as z.object({ … })' };
  return { parameters: { type, ...keywords } };
}

export function isStandard(given: unknown): given is StandardSchema {
  const is = (typeof given === 'object' && given !== null) || typeof given === 'function';
  return is && '~standard' in given && typeof given['~standard'] === 'object';
}

/** Standard JSON Schema (zod 4.2, ArkType, Valibot's toStandardJsonSchema), else that of zod 4. */
function standardJsonSchema(schema: StandardSchema): JsonSchema | string {
  const { jsonSchema, vendor } = schema['~standard'];
  try {
    if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
    if ('_zod' in schema) return z.toJSONSchema(schema as unknown as z.ZodType, { io: 'input' });
  } catch (error) {
    return `parameters cannot be told to a model as JSON Schema: ${reasonOf(error)}`;
  }
  return (
    `parameters: this schema of ${vendor} does not say its JSON Schema, which models need. Use zod 4, another library ` +
    'with Standard JSON Schema, or a JSON Schema'
  );
}
