import * as z from 'zod';
import { optional, required } from '../../schema/field.js';
import { instructionSchema, phraseSchema } from '../../schema/text.js';
import type { Fill } from '../variables.js';

const MOST_TARGETS = 20;
const DEFAULT_HOPS = 10;
const DEFAULT_MESSAGES = 6;

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
      { default: DEFAULT_MESSAGES },
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

/** An agent in a conversation. `id` null: one without an id. */
export interface AgentRef {
  id: string | null;
  name: string;
}

/** The agent of the beginning, where nothing names it. */
export const UNNAMED_AGENT: AgentRef = { id: null, name: 'the first agent' };

/** What the next agent learns of the conversation. */
export interface HandoverContext {
  plan: 'all' | 'last' | 'summary' | 'variables' | 'none';
  messages: number;
  variables: readonly string[];
}

export interface HandoverTarget extends HandoverContext {
  agent: AgentRef & { id: string };
  when: string | null;
  /** Null = the user is not told. */
  announcement: string | null;
  mayReturn: boolean;
}

/** Hand-over to other agents, as the core has it. */
export interface HandoverConfig {
  targets: readonly HandoverTarget[];
  /** Hand-overs in a conversation, returns included. */
  maxHops: number;
}

/** What an agent learns where nothing else is said. */
export const WHOLE_CONTEXT: HandoverContext = { plan: 'all', messages: DEFAULT_MESSAGES, variables: [] };

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
        messages: target.messages ?? DEFAULT_MESSAGES,
        variables: target.variables ?? [],
        announcement: fill(target.announcement).trim() || null,
        mayReturn: target.return ?? true,
      },
    ];
  });
  return targets.length === 0 ? null : { targets, maxHops: settings.max_hops ?? DEFAULT_HOPS };
}

export interface HandoverNote {
  from: AgentRef;
  to: AgentRef;
  back: boolean;
  reason: string | null;
  summary: string | null;
  variables: Readonly<Record<string, string>>;
  announcement: string | null;
  /** What the user said last waits for an answer. */
  isAsked: boolean;
}

/** The result of a call that has handed the conversation over. */
export function handedOver({ name }: AgentRef): string {
  return `${HANDED_OVER} ${name} now.`;
}

/** Whether a result of such a call says that it has. */
export function saysHandedOver(result: string): boolean {
  return result.startsWith(HANDED_OVER);
}

const HANDED_OVER = 'The conversation is with';
const ASKED = 'Answer what the user said last, and do not greet them again.';
const OVER = 'The conversation has been handed over to you';
const BACK = 'The conversation has been handed back to you';
const WENT = 'The conversation went from';

/** What an agent's model is told when the conversation is its own. */
export function handoverNote({ from, to, back, ...about }: HandoverNote): string {
  const { reason, summary, announcement, isAsked } = about;
  const variables = Object.entries(about.variables).map(([name, value]) => `${name}: ${value}`);
  return [
    back ? `${BACK} by ${from.name}.` : `${OVER} by ${from.name}. You are ${to.name}.`,
    ...(reason === null ? [] : [`${from.name} tells you: ${reason}`]),
    ...(summary === null ? [] : [`The conversation so far: ${summary}`]),
    ...(variables.length === 0 ? [] : [`Known: ${variables.join('; ')}.`]),
    announcement === null ? 'The user has not been told of it.' : `The user has been told: "${announcement}"`,
    isAsked ? ASKED : 'Go on with the conversation in one short sentence.',
  ].join(' ');
}

/** In place of a hand-over between others, or away from the agent that reads it. */
export function passedNote({ from, to }: Pick<HandoverNote, 'from' | 'to'>): string {
  return `${WENT} ${from.name} to ${to.name}.`;
}

/** What a note for a model says of a hand-over; null = it is about something else. */
export function handoverIn(note: string): { is: 'over' | 'back' | 'passed'; isAsked: boolean } | null {
  const is = note.startsWith(OVER) ? 'over' : note.startsWith(BACK) ? 'back' : note.startsWith(WENT) ? 'passed' : null;
  return is === null ? null : { is, isAsked: note.endsWith(ASKED) };
}
