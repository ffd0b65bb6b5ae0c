import { type AgentConfig, agentConfigSchema } from './agent.js';
import * as z from 'zod';

/**
 * A configuration as answers and webhooks have it: members that are not set are null, arrays []. It means the same, but
 * not as an override: there, [] takes the place of what the agent has.
 */
export function wholeAgentConfig(config: AgentConfig): AgentConfig {
  return withUnsetMembers(agentConfigSchema, config);
}

/** A configuration as it is stored: without the members that are not set. */
export function trimmedAgentConfig(config: AgentConfig): AgentConfig {
  return withoutUnsetMembers(agentConfigSchema, config);
}

/**
 * A value with every member that its schema has: one that is not set is null, an array []. Members come in the schema's
 * order, then those that the schema lets pass; the keys of records are not members and stay as they are.
 */
export function withUnsetMembers<T extends z.ZodType>(schema: T, value: z.output<T>): z.output<T> {
  return completed(schema, value) as z.output<T>;
}

/** The same value without the members that are not set: null, or [] where that is what stands for it. */
export function withoutUnsetMembers<T extends z.ZodType>(schema: T, value: z.output<T>): z.output<T> {
  return trimmed(schema, value) as z.output<T>;
}

function completed(schema: z.core.$ZodType, value: unknown): unknown {
  return walked(schema, value, (shape, given) => {
    const whole: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(shape)) {
      const found = given[name] == null ? unsetOf(member) : completed(member, given[name]);
      if (found !== undefined) whole[name] = found;
      else if (Object.hasOwn(given, name)) whole[name] = given[name];
    }
    return { ...whole, ...Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(whole, name))) };
  });
}

function trimmed(schema: z.core.$ZodType, value: unknown): unknown {
  return walked(schema, value, (shape, given) =>
    Object.fromEntries(
      Object.entries(given).flatMap(([name, found]) => {
        const member = Object.hasOwn(shape, name) ? shape[name] : undefined;
        if (member === undefined) return [[name, found]];
        const unset = unsetOf(member);
        const isEmpty = Array.isArray(unset) && Array.isArray(found) && found.length === 0;
        return isEmpty || (found === null && unset !== undefined) ? [] : [[name, trimmed(member, found)]];
      }),
    ),
  );
}

/** @param change what becomes of each object that the schema has members of, and of those in it */
function walked(
  schema: z.core.$ZodType,
  value: unknown,
  change: (shape: z.core.$ZodShape, given: Readonly<Record<string, unknown>>) => unknown,
): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const inner = plain(schema);
  if (inner instanceof z.ZodUnion) {
    const wanted = Array.isArray(value) ? z.ZodArray : z.ZodObject;
    const option = inner.options.map(plain).find((each) => each instanceof wanted);
    return option === undefined ? value : walked(option, value, change);
  }
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => walked(inner.element, item, change));
  }
  if (!(inner instanceof z.ZodObject) || Array.isArray(value)) return value;
  return change(inner.shape, value as Readonly<Record<string, unknown>>);
}

/** The schema without what says that its value may be missing or null. */
function plain(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? plain(schema.unwrap()) : schema;
}

const known = new WeakMap<z.core.$ZodType, { value: unknown }>();

/** What stands where a member is not set; undefined = it has to be set, or may only be left out. */
function unsetOf(member: z.core.$ZodType): unknown {
  let unset = known.get(member);
  if (unset === undefined) {
    const candidates = plain(member) instanceof z.ZodArray ? [[], null] : [null];
    const mayBeMissing = z.safeParse(member, undefined).success;
    const value = mayBeMissing ? candidates.find((each) => z.safeParse(member, each).success) : undefined;
    unset = { value };
    known.set(member, unset);
  }
  return unset.value;
}
