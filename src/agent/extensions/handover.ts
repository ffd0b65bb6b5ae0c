import * as z from 'zod';
import { optional, required } from '../../schema/field.js';
import { instructionSchema, phraseSchema } from '../../schema/text.js';
import { type HandoverConfig, type HandoverTarget, WHOLE_CONTEXT } from '../flow/handover.js';
import type { Fill } from '../variables.js';

const MOST_TARGETS = 20;
const DEFAULT_HOPS = 10;

const targetSchema = z
  .strictObject({
    agent_id: required(z.string().min(1).max(200), 'The agent. Unknown ids are refused.'),
    name: optional(z.string().min(1).max(100), 'What this agent calls it.', { default: "the agent's own name" }),
    when: optional(instructionSchema, 'When it is the right one.', { default: 'the model decides by its name' }),
    context: optional(
      z.enum(['all', 'last', 'summary', 'variables', 'none']),
      "What it learns of the conversation: `all` of it; the `last` messages; a `summary` by this agent's model; chosen " +
        '`variables`; or `none`. What the user said last, and waits for an answer to, it learns in any case.',
      { default: 'all' },
    ),
    messages: optional(
      z.int().min(1).max(200),
      'How many messages `last` has, and `summary` if there is no summary in time.',
      { default: WHOLE_CONTEXT.messages },
    ),
    variables: optional(
      z
        .array(z.string().regex(/^[\p{L}_][\p{L}\p{N}_]{0,63}$/u, 'Input should be a name such as order_number'))
        .max(50),
      'Names of values that it gets, whatever its context: from the metadata, or as this agent has learned them. They ' +
        'are its variables `{name}`, too.',
      { default: 'none' },
    ),
    announcement: optional(phraseSchema, 'Said word for word before the other agent speaks.', {
      default: 'nothing: the user is not told',
    }),
    return: optional(z.boolean(), 'Whether it may hand the conversation back.', { default: true }),
  })
  .meta({ id: 'HandoverTarget', description: 'An agent to whom this one may hand the conversation over.' });

/** `extensions.handover`: other agents go on with the conversation. */
export const handoverSchema = z
  .strictObject({
    agents: required(z.array(targetSchema).min(1).max(MOST_TARGETS), 'Whom this agent may hand over to.'),
    max_hops: optional(
      z.int().min(1).max(100),
      'After so many hand-overs in a conversation, returns included, this agent hands over no more.',
      { default: DEFAULT_HOPS },
    ),
  })
  .refine(({ agents }) => new Set(agents.map(({ agent_id: id }) => id)).size === agents.length, {
    error: 'Each agent should be named once',
    path: ['agents'],
  })
  .meta({ id: 'Handover', description: 'Other agents to whom the conversation may be handed over.' });

export type HandoverSettings = z.infer<typeof handoverSchema>;

/** @param nameOf the name of an agent; null = it does not exist, and is left out */
export function resolveHandover(
  settings: HandoverSettings | null | undefined,
  nameOf: (id: string) => string | null,
  fill: Fill,
): HandoverConfig | null {
  if (settings == null) return null;
  const targets = settings.agents.flatMap((target): HandoverTarget[] => {
    const name = nameOf(target.agent_id);
    if (name === null) return [];
    return [
      {
        agent: { id: target.agent_id, name: target.name ?? name },
        when: fill(target.when) || null,
        plan: target.context ?? 'all',
        messages: target.messages ?? WHOLE_CONTEXT.messages,
        variables: target.variables ?? [],
        announcement: fill(target.announcement).trim() || null,
        mayReturn: target.return ?? true,
      },
    ];
  });
  return targets.length === 0 ? null : { targets, maxHops: settings.max_hops ?? DEFAULT_HOPS };
}
