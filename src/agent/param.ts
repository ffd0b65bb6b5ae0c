import * as z from 'zod';
import { optional, required } from '../schema/field.js';
import { JSON_TYPE_NAMES, schemaFault } from '../schema/json-schema.js';

/** A JSON Schema inside an argument: of a member, of the items of an array, or one of several forms. */
export interface ParamSchema extends ParamKeywords {
  type?: (typeof JSON_TYPE_NAMES)[number] | (typeof JSON_TYPE_NAMES)[number][] | null | undefined;
  title?: string | null | undefined;
  description?: string | null | undefined;
}

/** Keywords of JSON Schema (draft 2020-12). Null = not set. */
export interface ParamKeywords {
  required?: boolean | string[] | null | undefined;
  enum?: unknown[] | null | undefined;
  const?: unknown;
  default?: unknown;
  examples?: unknown[] | null | undefined;
  format?: string | null | undefined;
  pattern?: string | null | undefined;
  minLength?: number | null | undefined;
  maxLength?: number | null | undefined;
  minimum?: number | null | undefined;
  maximum?: number | null | undefined;
  exclusiveMinimum?: number | null | undefined;
  exclusiveMaximum?: number | null | undefined;
  multipleOf?: number | null | undefined;
  items?: ParamSchema | null | undefined;
  prefixItems?: ParamSchema[] | null | undefined;
  minItems?: number | null | undefined;
  maxItems?: number | null | undefined;
  uniqueItems?: boolean | null | undefined;
  properties?: Record<string, ParamSchema> | null | undefined;
  additionalProperties?: boolean | ParamSchema | null | undefined;
  minProperties?: number | null | undefined;
  maxProperties?: number | null | undefined;
  anyOf?: ParamSchema[] | null | undefined;
  oneOf?: ParamSchema[] | null | undefined;
  allOf?: ParamSchema[] | null | undefined;
  not?: ParamSchema | null | undefined;
}

const countSchema = z.int().min(0);
const REQUIRED = {
  own: 'Whether the model has to give it. A list names the members that an object must have, as in JSON Schema.',
  member: 'Whether the object must have it. A list names the members that this one must have, as in JSON Schema.',
};

type Optional<T> = z.ZodOptional<z.ZodNullable<z.ZodType<T, T>>>;

const keywords = {
  enum: optional(z.array(z.unknown()).min(1).max(500), 'The values that it can have.', { default: 'any' }),
  const: optional(z.unknown(), 'The only value that it can have.', { default: 'any' }),
  default: optional(z.unknown(), 'The value where the model gives none.', { default: 'none' }),
  examples: optional(z.array(z.unknown()).max(20), 'Examples for the model.', { default: 'none' }),
  format: optional(
    z.string().max(64),
    'Form of a string: date, time, date-time, email, uri, uuid, ipv4 and ipv6 are checked; others only inform the model.',
    { default: 'any' },
  ),
  pattern: optional(z.string().max(1_000), 'Regular expression that a string must match somewhere.', {
    default: 'any',
  }),
  minLength: optional(countSchema, 'Fewest characters of a string.', { default: 0 }),
  maxLength: optional(countSchema, 'Most characters of a string.', { default: 'any number' }),
  minimum: optional(z.number(), 'Smallest number.', { default: 'none' }),
  maximum: optional(z.number(), 'Largest number.', { default: 'none' }),
  exclusiveMinimum: optional(z.number(), 'A number that it must be above.', { default: 'none' }),
  exclusiveMaximum: optional(z.number(), 'A number that it must be below.', { default: 'none' }),
  multipleOf: optional(z.number().gt(0), 'A number that it must be a multiple of.', { default: 'none' }),
  get items(): Optional<ParamSchema> {
    return optional(paramPartSchema, 'What the items of an array are.', { default: 'anything' });
  },
  get prefixItems(): Optional<ParamSchema[]> {
    return optional(z.array(paramPartSchema).min(1).max(50), 'What the first items of an array are, one by one.', {
      default: 'anything',
    });
  },
  minItems: optional(countSchema, 'Fewest items of an array.', { default: 0 }),
  maxItems: optional(countSchema, 'Most items of an array.', { default: 'any number' }),
  uniqueItems: optional(z.boolean(), 'Whether no item of an array may be there twice.', { default: false }),
  get properties(): Optional<Record<string, ParamSchema>> {
    return optional(z.record(z.string().min(1).max(64), paramPartSchema), 'The members of an object, by name.', {
      default: 'any members',
    });
  },
  get additionalProperties(): Optional<boolean | ParamSchema> {
    return optional(z.union([z.boolean(), paramPartSchema]), 'Whether, or which, other members an object may have.', {
      default: true,
    });
  },
  minProperties: optional(countSchema, 'Fewest members of an object.', { default: 0 }),
  maxProperties: optional(countSchema, 'Most members of an object.', { default: 'any number' }),
  get anyOf(): Optional<ParamSchema[]> {
    return optional(z.array(paramPartSchema).min(1).max(20), 'It has at least one of these forms.', {
      default: 'any form',
    });
  },
  get oneOf(): Optional<ParamSchema[]> {
    return optional(z.array(paramPartSchema).min(1).max(20), 'It has exactly one of these forms.', {
      default: 'any form',
    });
  },
  get allOf(): Optional<ParamSchema[]> {
    return optional(z.array(paramPartSchema).min(1).max(20), 'It has all of these forms.', { default: 'any form' });
  },
  get not(): Optional<ParamSchema> {
    return optional(paramPartSchema, 'A form that it must not have.', { default: 'none' });
  },
};

const requiredSchema = z.union([z.boolean(), z.array(z.string().min(1).max(64)).max(100)]);

const typeNameSchema = z.enum(JSON_TYPE_NAMES);

const partKeywords = {
  type: optional(
    z.union([typeNameSchema, z.array(typeNameSchema).min(1).max(JSON_TYPE_NAMES.length)]),
    'Its type, or several.',
    { default: 'any' },
  ),
  title: optional(z.string().max(200), 'A short name for the model.', { default: 'none' }),
  description: optional(z.string().max(4_000), 'Its description for the model.', { default: 'none' }),
  required: optional(requiredSchema, REQUIRED.member, { default: false }),
};

/** Getters, because a part has parts of its own: they are called when the schema is complete. */
const paramPartSchema: z.ZodType<ParamSchema, ParamSchema> = z
  .strictObject(Object.defineProperties(partKeywords, Object.getOwnPropertyDescriptors(keywords)))
  .meta({ id: 'ParamSchema', description: 'JSON Schema of a part of an argument.' });

export const paramSchema = z
  .strictObject({
    name: required(z.string().min(1).max(64), 'Key of the argument.'),
    required: optional(requiredSchema, REQUIRED.own, { default: false }),
    type: optional(
      z.string().regex(/^[A-Za-z][A-Za-z0-9_ -]{0,31}$/, 'Input should be a short word such as string or number'),
      'string, number, integer, boolean, array or object. Any other word (email, date…) is a string whose form the ' +
        'model gets.',
      { default: 'string; with enum, const, anyOf, oneOf or allOf any' },
    ),
    description: optional(z.string().max(4_000), 'Its description for the model.', { default: 'none' }),
    ...keywords,
  })
  .superRefine((param, context) => {
    const { name: _, type: __, ...part } = param;
    const fault = schemaFault(keywordsOf(part));
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  })
  .meta({ id: 'Param', description: 'One argument of a function, with the keywords of JSON Schema.' });

export type Param = z.infer<typeof paramSchema>;

/**
 * The JSON Schema keywords of an argument or a part of it, without those that are not set. A member with `required: true`
 * is in its object's list.
 * @param fill is applied to descriptions
 */
export function keywordsOf(
  part: ParamKeywords & { description?: string | null | undefined },
  fill = (text: string): string => text,
): Readonly<Record<string, unknown>> {
  const inner = (one: ParamSchema): unknown => keywordsOf(one, fill);
  const { properties, additionalProperties, required: own, description, ...rest } = part;
  const { items, not, prefixItems, anyOf, oneOf, allOf, ...plain } = rest;
  const listed = Array.isArray(own) ? own : [];
  const members = Object.entries(properties ?? {});
  const marked = members.flatMap(([name, member]) => (member.required === true ? [name] : []));
  const names = [...new Set([...listed, ...marked])];
  const all: Record<string, unknown> = {
    ...plain,
    description: description == null ? null : fill(description),
    properties: properties == null ? null : Object.fromEntries(members.map(([name, one]) => [name, inner(one)])),
    required: names.length === 0 ? null : names,
    additionalProperties:
      typeof additionalProperties === 'object' && additionalProperties !== null
        ? inner(additionalProperties)
        : additionalProperties,
    items: items == null ? null : inner(items),
    not: not == null ? null : inner(not),
    prefixItems: prefixItems?.map(inner),
    anyOf: anyOf?.map(inner),
    oneOf: oneOf?.map(inner),
    allOf: allOf?.map(inner),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== undefined));
}
