import * as z from 'zod';
import { optional } from '../../schema/field.js';
import { type Location, parseWith } from '../../schema/issues.js';
import { recordingExtensionSchema, transferExtensionSchema } from '../flow/actions.js';
import { toolNameSchema } from '../../schema/text.js';
import { flowSchema } from '../flow/steps.js';
import { pronunciationSchema } from './pronunciation.js';
import { handoverSchema } from './handover.js';
import { queueSchema } from './queue.js';

/** What an agent has beside its AgentConfig. Each member has a file of its own in this folder. */
export const agentExtensionsSchema = z
  .strictObject({
    functions: optional(
      z.array(toolNameSchema).max(128),
      'Functions in code that the model can call: names of functions of plug-ins. Unknown names are refused with the ' +
        'list of known ones.',
      { default: 'none' },
    ),
    recording: optional(recordingExtensionSchema, 'What the agent may do with the recording of its call.', {
      default: 'as its fields say',
    }),
    transfer: optional(transferExtensionSchema, 'How calls are transferred.', { default: 'as its fields say' }),
    pronunciation: optional(pronunciationSchema, 'How the agent says its words, with any voice.', {
      default: 'as the voice does',
    }),
    queue: optional(queueSchema, 'Inbound phone calls wait when no session is free.', {
      default: 'they are refused',
    }),
    flow: optional(flowSchema, 'The conversation is a graph of steps.', {
      default: 'the prompt or script alone leads it',
    }),
    handover: optional(handoverSchema, 'Other agents to whom the conversation may be handed over.', {
      default: 'to none',
    }),
  })
  .meta({ id: 'AgentExtensions', description: 'What an agent has beside its AgentConfig. Every field may be null.' });

export type AgentExtensions = z.infer<typeof agentExtensionsSchema>;

/**
 * Checked extensions: unknown members are refused, nothing is coerced.
 * @param location goes before each fault's location
 * @throws InvalidConfigError naming every fault
 */
export function parseAgentExtensions(value: unknown, location: Location): AgentExtensions {
  return parseWith(agentExtensionsSchema, value, location);
}

/** Extensions with members replaced, one by one, by those of an override. A member that is null replaces nothing. */
export function overriddenExtensions(
  own: AgentExtensions | null | undefined,
  override: AgentExtensions | null | undefined,
): AgentExtensions | null {
  if (override == null) return own ?? null;
  return { ...own, ...Object.fromEntries(Object.entries(override).filter(([, value]) => value != null)) };
}
