import type { ToolSpec } from '../agent/chat.js';
import type { AgentFunction, Param } from '../agent/function.js';
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

/** The JSON schema type of a param. An unknown word (email, date) is a string with that format. */
export function jsonTypeOf(param: Param): JsonType {
  return namedType(param) ?? 'string';
}

/** A function as offered to the model, with `{Name}` variables filled in. */
export function functionSpec(fn: AgentFunction, variables: Variables): ToolSpec {
  const params = fn.params ?? [];
  return {
    name: fn.name,
    description: fillVariables(fn.description, variables),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(params.map((param) => [param.name, schemaOf(param, variables)])),
      required: params.filter((param) => param.required === true).map((param) => param.name),
      additionalProperties: false,
    },
  };
}

function schemaOf(param: Param, variables: Variables): Readonly<Record<string, unknown>> {
  const type = jsonTypeOf(param);
  const form = namedType(param) === undefined && param.type != null ? `(${param.type})` : '';
  const description = [fillVariables(param.description ?? '', variables), form].filter((part) => part !== '').join(' ');
  return {
    type,
    // Model servers require the items of an array.
    items: type === 'array' ? {} : undefined,
    description: description === '' ? undefined : description,
  };
}

function namedType(param: Param): JsonType | undefined {
  const name = (param.type ?? 'string').toLowerCase();
  return Object.hasOwn(JSON_TYPES, name) ? JSON_TYPES[name] : undefined;
}
