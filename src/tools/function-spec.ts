import type { ToolSpec } from '../agent/chat.js';
import type { AgentFunction } from '../agent/function.js';
import { keywordsOf, type Param } from '../agent/param.js';
import { type Variables, fillVariables } from '../agent/variables.js';

export type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

/** Names of JSON schema types in configurations. */
const JSON_TYPES: Readonly<Record<string, JsonType>> = {
  string: 'string',
  str: 'string',
  text: 'string',
  number: 'number',
  float: 'number',
  double: 'number',
  integer: 'integer',
  int: 'integer',
  boolean: 'boolean',
  bool: 'boolean',
  array: 'array',
  list: 'array',
  object: 'object',
  dict: 'object',
};

/** Keywords that say what an argument can be, so that it needs no type. */
const OTHER_FORMS = ['enum', 'const', 'anyOf', 'oneOf', 'allOf'] as const;

/**
 * The JSON schema type of a param; null = its other keywords say what it can be. An unknown word (email, date) is a
 * string with that format.
 */
export function jsonTypeOf(param: Param): JsonType | null {
  const named = namedType(param);
  if (named !== undefined) return named;
  if (param.type != null) return 'string';
  if (param.properties != null) return 'object';
  if (param.items != null || param.prefixItems != null) return 'array';
  return OTHER_FORMS.some((keyword) => param[keyword] != null) ? null : 'string';
}

/** A function as offered to the model, with `{Name}` variables filled in. */
export function functionSpec(fn: AgentFunction, variables: Variables): ToolSpec {
  return {
    name: fn.name,
    description: fillVariables(fn.description, variables),
    parameters: paramsSchema(fn.params ?? [], variables),
  };
}

const NO_VARIABLES: Variables = new Map();

/** The JSON schema of an object with these members. */
export function paramsSchema(
  params: readonly Param[],
  variables = NO_VARIABLES,
): ToolSpec['parameters'] & { properties: Readonly<Record<string, object>> } {
  return {
    type: 'object',
    properties: Object.fromEntries(params.map((param) => [param.name, schemaOf(param, variables)])),
    required: params.filter((param) => param.required === true).map((param) => param.name),
    additionalProperties: false,
  };
}

function schemaOf(param: Param, variables: Variables): Readonly<Record<string, unknown>> {
  const { name: _, type: word, ...part } = param;
  const type = jsonTypeOf(param);
  const form = namedType(param) === undefined && word != null ? `(${word})` : '';
  const keywords = keywordsOf(part, (text) => fillVariables(text, variables));
  const { description: told, ...schema }: Record<string, unknown> = keywords;
  const description = [typeof told === 'string' ? told : '', form].filter((text) => text !== '').join(' ');
  if (type !== null) schema['type'] = type;
  // Model servers require the items of an array.
  if (type === 'array' && param.prefixItems == null) schema['items'] ??= {};
  if (description !== '') schema['description'] = description;
  return schema;
}

function namedType(param: Param): JsonType | undefined {
  const name = (param.type ?? '').toLowerCase();
  return Object.hasOwn(JSON_TYPES, name) ? JSON_TYPES[name] : undefined;
}
