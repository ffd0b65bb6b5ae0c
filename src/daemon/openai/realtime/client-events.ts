import * as z from 'zod';
import { type InvalidConfigError, parseWith } from '../../../schema/issues.js';
import { parseJson } from '../../../base/json.js';

const idSchema = z.string().min(1).max(512);
const textSchema = z.string().max(100_000);
const base = { event_id: z.string().max(512).nullish() };

const itemBase = { id: idSchema.nullish() };
const partSchema = z.looseObject({ type: z.string().max(64), text: textSchema.nullish() });
const itemSchema = z.discriminatedUnion(
  'type',
  [
    z.looseObject({
      ...itemBase,
      type: z.literal('message'),
      role: z.enum(['user', 'assistant', 'system']),
      content: z.array(partSchema).min(1).max(100),
    }),
    z.looseObject({ ...itemBase, type: z.literal('function_call_output'), call_id: idSchema, output: textSchema }),
  ],
  'only message and function_call_output are supported',
);
const responseSchema = z.looseObject({
  instructions: textSchema.nullish(),
  output_modalities: z.array(z.enum(['text', 'audio'])).nullish(),
  modalities: z.array(z.enum(['text', 'audio'])).nullish(),
  conversation: z.literal('auto', 'answers outside of the conversation are not supported').nullish(),
  input: z.null('answers to other input are not supported').nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  tool_choice: z.enum(['auto', 'none'], 'only auto and none are supported').nullish(),
  tools: z.null('tools belong to the session').nullish(),
});

const schemas = {
  'session.update': z.looseObject({ ...base, session: z.unknown() }),
  'input_audio_buffer.append': z.looseObject({ ...base, audio: z.base64().max(20_971_520) }),
  'input_audio_buffer.commit': z.looseObject(base),
  'input_audio_buffer.clear': z.looseObject(base),
  'output_audio_buffer.clear': z.looseObject(base),
  'conversation.item.create': z.looseObject({ ...base, item: itemSchema, previous_item_id: idSchema.nullish() }),
  'conversation.item.retrieve': z.looseObject({ ...base, item_id: idSchema }),
  'conversation.item.delete': z.looseObject({ ...base, item_id: idSchema }),
  'conversation.item.truncate': z.looseObject({
    ...base,
    item_id: idSchema,
    content_index: z.int().min(0).nullish(),
    audio_end_ms: z.number().min(0).max(86_400_000),
  }),
  'response.create': z.looseObject({ ...base, response: responseSchema.nullish() }),
  'response.cancel': z.looseObject({ ...base, response_id: idSchema.nullish() }),
} as const;

export type ClientEventType = keyof typeof schemas;

/** A checked event of the client. */
export type ClientEvent = {
  [Type in ClientEventType]: { type: Type; event_id: string | null; body: z.output<(typeof schemas)[Type]> };
}[ClientEventType];

export type ClientItem = z.output<typeof itemSchema>;

/** Why an event is not carried out. `param` names the member, null = the event as a whole. */
export class EventRefusal extends Error {
  readonly code: string;
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

/** The id that a client has given its event, however wrong the rest is; null = none. */
export function eventIdOf(value: unknown): string | null {
  const id = typeof value === 'object' && value !== null && 'event_id' in value ? value.event_id : null;
  return typeof id === 'string' ? id.slice(0, 512) : null;
}

/** @throws EventRefusal */
export function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new EventRefusal('invalid_json', 'The event is not JSON');
  }
}

/** @throws EventRefusal; InvalidConfigError */
export function parseClientEvent(value: unknown): ClientEvent {
  const type: unknown = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  if (typeof type !== 'string') throw new EventRefusal('missing_required_parameter', 'The event has no type', 'type');
  if (!Object.hasOwn(schemas, type)) {
    throw new EventRefusal('invalid_value', `There is no event "${type.slice(0, 64)}"`, 'type');
  }
  const known = type as ClientEventType;
  return { type: known, event_id: eventIdOf(value), body: parseWith(schemas[known], value) } as ClientEvent;
}

/** The refusal of an invalid event. */
export function refusalOf(error: InvalidConfigError): EventRefusal {
  const [issue] = error.issues;
  const param = issue === undefined ? null : issue.loc.join('.');
  return new EventRefusal('invalid_value', issue?.msg ?? error.message, param);
}
