import type { Param } from '../agent/param.js';
import type { Variables } from '../agent/variables.js';
import { parseJson } from '../base/json.js';
import { checkJson, type JsonSchema } from '../schema/json-schema.js';
import { jsonTypeOf, paramsSchema } from './function-spec.js';

export type Arguments = Readonly<Record<string, unknown>>;

/** The arguments to send, or an error text for the model. */
export type ReadArguments = { ok: true; values: Arguments } | { ok: false; problem: string };

/**
 * Validates a model's arguments against the params' JSON schema, and fills in defaults. Null counts as absent; nothing is
 * coerced; unknown arguments are rejected, so that a model cannot impersonate the session.
 */
export function readArguments(params: readonly Param[], text: string): ReadArguments {
  return readObject(paramsSchema(params), text);
}

/** Validates a model's arguments against a JSON schema of an object, and fills in defaults. */
export function readObject(schema: JsonSchema, text: string): ReadArguments {
  const given = parseObject(text);
  if (given === undefined) return { ok: false, problem: 'The arguments are not a JSON object.' };
  const checked = checkJson(schema, Object.fromEntries(given));
  if (!checked.ok) return { ok: false, problem: checked.problems.join(' ') };
  return { ok: true, values: checked.value as Arguments };
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
  const { properties } = paramsSchema(params);
  const usable = params.flatMap(({ name }): [string, unknown][] => {
    const schema = { type: 'object', properties: { [name]: properties[name] } };
    const own = given.has(name) ? { [name]: given.get(name) } : {};
    const checked = checkJson(schema, own);
    return checked.ok ? Object.entries(checked.value as Arguments) : [];
  });
  return Object.fromEntries(usable);
}

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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
