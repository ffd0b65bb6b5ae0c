import * as z from 'zod';
import { optional, required } from '../schema/field.js';
import { paramSchema } from './param.js';
import { phrasesSchema, toolNameSchema } from '../schema/text.js';
import { headersSchema, httpUrlSchema } from './webhook.js';

const paramsSchema = z.array(paramSchema).max(100).superRefine(refuseRepeatedNames, { when: isList });

const responseModeSchema = z.enum(['strict', 'flexible']);

const RESPONSE_MODE_EFFECT = "`strict` says one of `messages` as written, `flexible` in the model's own words.";

export const functionSchema = z
  .strictObject({
    name: required(toolNameSchema, 'What the model calls it by; no two tools share a name.'),
    description: required(z.string().max(10_000), 'Its description for the model: what it does.'),
    params: optional(paramsSchema, 'Its arguments.', { default: 'none' }),
    webhook: optional(httpUrlSchema, 'The address that is called.', {
      default: 'nothing is called, the arguments are recorded',
    }),
    header: optional(headersSchema, 'Headers of the request.', { default: 'none' }),
    method: optional(
      // Without the flag `i`, which JSON Schema does not have: the OpenAPI document has this pattern.
      z
        .string()
        .regex(
          /^(?:[Gg][Ee][Tt]|[Pp][Oo][Ss][Tt]|[Pp][Uu][Tt]|[Pp][Aa][Tt][Cc][Hh]|[Dd][Ee][Ll][Ee][Tt][Ee])?$/,
          'Input should be GET, POST, PUT, PATCH or DELETE',
        ),
      'HTTP method. GET sends the arguments as the query, the others as a JSON body.',
      { default: 'POST' },
    ),
    timeout: optional(z.int().min(1).max(300), 'Time for the whole reply before the call counts as failed.', {
      unit: 's',
      default: 5,
    }),
    run_after_call: optional(
      z.boolean(),
      'Run once when the call has ended, with what is known then, in place of during it.',
      { default: false },
    ),
    messages: optional(phrasesSchema, 'Said while it runs.', { default: 'nothing' }),
    response_mode: optional(responseModeSchema, RESPONSE_MODE_EFFECT, { default: 'strict' }),
    execute_after_message: optional(z.boolean(), 'Start only after the phrase has been played.', { default: false }),
    exclude_session_id: optional(z.boolean(), 'Leave `session_id` out of the request.', { default: false }),
    include_metadata: optional(z.boolean(), "Send the session's metadata as `metadata`.", { default: false }),
  })
  .meta({ id: 'Function', description: 'A webhook that the model can call.' });

export type AgentFunction = z.infer<typeof functionSchema>;

export const functionsSchema = z.array(functionSchema).max(128).superRefine(refuseRepeatedNames, { when: isList });

export const serviceFunctionSchema = z
  .strictObject({
    name: required(toolNameSchema, 'What the model calls it by; no two tools share a name.'),
    description: required(z.string().max(10_000), 'Its description for the model: what it does.'),
    params: optional(paramsSchema, 'Its arguments.', { default: 'none' }),
    data: required(
      z
        .strictObject({ param: required(paramSchema, 'The value that is asked for.') })
        .meta({ id: 'ServiceFunctionData', description: 'What the service function asks for.' }),
      'What the caller is asked to fill in.',
    ),
    type: required(z.enum(['webform', 'web_form', 'webhook']), "Who fulfils it: the caller's client or the operator."),
    messages: optional(phrasesSchema, 'Said while it runs.', { default: 'nothing' }),
    response_mode: optional(responseModeSchema, RESPONSE_MODE_EFFECT, { default: 'strict' }),
  })
  .meta({ id: 'ServiceFunction', description: "A function fulfilled by the caller's client or the operator." });

export type ServiceFunction = z.infer<typeof serviceFunctionSchema>;

export const appFunctionSchema = z
  .strictObject({
    name: required(toolNameSchema, 'The registered app function.'),
    credentials: optional(z.record(z.string(), z.string()), 'What the app wants to know of the account.', {
      default: 'none',
    }),
  })
  .meta({ id: 'AppFunction', description: 'A ready-made function of another service.' });

export type AppFunction = z.infer<typeof appFunctionSchema>;

/** Repeated names are looked for also where items have other faults. */
function isList({ value }: { value: unknown }): boolean {
  return Array.isArray(value);
}

/** @param items as they were given: some may be no objects, or have no name */
function refuseRepeatedNames(
  items: readonly unknown[],
  context: { addIssue(issue: { code: 'custom'; path: (string | number)[]; message: string }): void },
): void {
  const seen = new Set<string>();
  items.forEach((item, index) => {
    const { name } = (item ?? {}) as { name?: unknown };
    if (typeof name !== 'string') return;
    if (seen.has(name))
      context.addIssue({ code: 'custom', path: [index, 'name'], message: `${name} is there already` });
    seen.add(name);
  });
}
