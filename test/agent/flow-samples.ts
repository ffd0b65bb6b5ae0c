import * as z from 'zod';
import { agentConfigSchema, type AgentConfig } from '../../src/agent/agent.js';
import { type AgentExtensions, agentExtensionsSchema } from '../../src/agent/extensions/extensions.js';
import type { ConversationConfig } from '../../src/agent/flow/conversation-config.js';
import { resolveAgent } from '../../src/agent/resolve.js';
import { conversationConfig } from '../../src/engine/session-factory.js';

export type FlowAgent = AgentConfig & { extensions: AgentExtensions };

const { flow, session_timeout } = agentConfigSchema.shape;
const SCHEMAS = { flow, session_timeout, extensions: agentExtensionsSchema.pick({ transfer: true }) };

/** Every field of `flow`, `session_timeout` and `extensions.transfer`, with a value that is not its default. */
export const EVERY_FLOW_FIELD = sampleOf(z.strictObject(SCHEMAS), '') as FlowAgent;

/** The settings of a conversation on an outbound call of this agent. */
export function settingsOf({ extensions, ...config }: FlowAgent): ConversationConfig {
  return conversationConfig(resolveAgent(config, { extensions }), new Map(), 0, 'outbound');
}

/** The sample without one field. An entry of a list without its `phone` is left out as a whole. */
export function withoutField(path: string): FlowAgent {
  const copy = structuredClone(EVERY_FLOW_FIELD);
  const names = path.split('.').map((name) => name.replace('[]', ''));
  const last = names.pop() ?? '';
  let at = copy as unknown as Record<string, unknown>;
  for (const name of names) {
    const inner = at[name];
    at = (Array.isArray(inner) ? (inner as unknown[])[0] : inner) as Record<string, unknown>;
  }
  if (!Object.hasOwn(at, last)) throw new Error(`${path} is not in the sample`);
  at[last] = path.includes('[]') && last === 'phone' ? '' : null;
  return copy;
}

/** Names of the core's settings that a field changes, such as `responseDelayMs`. */
export function settingsChangedBy(path: string): string[] {
  return differences(settingsOf(withoutField(path)), settingsOf(EVERY_FLOW_FIELD), '');
}

function differences(one: unknown, other: unknown, name: string): string[] {
  if (JSON.stringify(one) === JSON.stringify(other)) return [];
  if (!isObject(one) || !isObject(other)) return [name];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((member) => differences(one[member], other[member], member));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A valid value that is not the default. */
function sampleOf(schema: z.core.$ZodType, path: string, fallback?: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return sampleOf(schema.unwrap(), path, fallback ?? schema.meta()?.['x-default']);
  }
  if (schema instanceof z.ZodUnion) {
    const option = schema.options.find((each) => each instanceof z.ZodObject) ?? schema.options[0];
    if (option !== undefined) return sampleOf(option, path);
  }
  if (schema instanceof z.ZodObject) {
    const members = Object.entries<z.core.$ZodType>(schema.shape);
    return Object.fromEntries(members.map(([name, member]) => [name, sampleOf(member, `${path}.${name}`)]));
  }
  if (schema instanceof z.ZodArray) return [sampleOf(schema.element, `${path}[]`)];
  if (schema instanceof z.ZodBoolean) return fallback !== true;
  if (schema instanceof z.ZodEnum) return schema.options.find((option) => option !== fallback);
  if (schema instanceof z.ZodNumber) return (schema.minValue ?? 0) + 7;
  if (schema instanceof z.ZodString) return path;
  throw new Error(`${path}: no sample for ${schema.constructor.name}`);
}
