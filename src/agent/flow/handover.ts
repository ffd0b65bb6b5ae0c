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
export const WHOLE_CONTEXT: HandoverContext = { plan: 'all', messages: 6, variables: [] };

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

/** The hand-over by which an agent has got the conversation, not counting returns; undefined = it began with it. */
export function arrivalOf<One extends Pick<HandoverNote, 'to' | 'back'>>(
  handovers: readonly One[],
  { id }: AgentRef,
): One | undefined {
  return handovers.findLast(({ to, back }) => !back && to.id === id);
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
