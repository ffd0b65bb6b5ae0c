import type { Param } from '../agent/function.js';
import type { Variables } from '../agent/variables.js';
import { parseJson } from '../base/json.js';
import { type JsonType, jsonTypeOf } from './function-spec.js';

export type Arguments = Readonly<Record<string, unknown>>;

/** The arguments to send, or an error text for the model. */
export type ReadArguments = { ok: true; values: Arguments } | { ok: false; problem: string };

/**
 * Validates a model's arguments. Null counts as absent; nothing is coerced; unknown arguments are rejected, so that a
 * model cannot impersonate the session.
 */
export function readArguments(params: readonly Param[], text: string): ReadArguments {
  const given = parseObject(text);
  if (given === undefined) return { ok: false, problem: 'The arguments are not a JSON object.' };
  const problems: string[] = [];
  const values: [string, unknown][] = [];
  for (const param of params) {
    const value = given.get(param.name) ?? null;
    if (value === null) {
      if (param.required === true) problems.push(`${param.name} is missing.`);
    } else if (!hasType(value, jsonTypeOf(param))) {
      problems.push(`${param.name} should be ${WORDS[jsonTypeOf(param)]}.`);
    } else values.push([param.name, value]);
  }
  const names = new Set(params.map(({ name }) => name));
  for (const name of given.keys()) {
    if (!names.has(name)) problems.push(`There is no argument ${JSON.stringify(name.slice(0, 64))}.`);
  }
  if (problems.length > 0) return { ok: false, problem: problems.slice(0, 10).join(' ') };
  return { ok: true, values: Object.fromEntries(values) };
}

/** A description that consists of one session variable: the variable's value is the argument. */
const ONE_VARIABLE = /^[^{}]*\{([^{}]+)\}[^{}]*$/;

/** Adds arguments that the model left out and whose description is a session variable. */
export function withKnown(params: readonly Param[], text: string, variables: Variables): string {
  const given = parseObject(text);
  if (given === undefined) return text;
  const known = params.flatMap((param): [string, unknown][] => {
    const name = ONE_VARIABLE.exec(param.description ?? '')?.[1]?.trim();
    const value = name === undefined ? undefined : variables.get(name);
    if (value === undefined || value === '' || (given.get(param.name) ?? null) !== null) return [];
    const type = jsonTypeOf(param);
    if (type === 'string') return [[param.name, value]];
    const isNumber = (type === 'number' || type === 'integer') && Number.isFinite(Number(value));
    return isNumber ? [[param.name, Number(value)]] : [];
  });
  return known.length === 0 ? text : JSON.stringify(Object.fromEntries([...given, ...known]));
}

/** The valid ones of arguments that may be incomplete or partly invalid. */
export function usableArguments(params: readonly Param[], text: string): Arguments {
  const given = parseObject(text) ?? new Map<string, unknown>();
  const usable = params.filter((param) => {
    const value = given.get(param.name) ?? null;
    return value !== null && hasType(value, jsonTypeOf(param));
  });
  return Object.fromEntries(usable.map(({ name }) => [name, given.get(name)]));
}

const WORDS: Readonly<Record<JsonType, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

/** Some models send an empty string for a call without arguments. */
function parseObject(text: string): ReadonlyMap<string, unknown> | undefined {
  if (text.trim() === '') return new Map();
  try {
    const value: unknown = parseJson(text);
    return isObject(value) ? new Map(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}

function hasType(value: unknown, type: JsonType): boolean {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return typeof value === type;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
