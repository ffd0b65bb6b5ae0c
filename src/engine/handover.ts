import type { AgentExtensions } from '../agent/extensions/extensions.js';
import {
  type AgentRef,
  arrivalOf,
  type HandoverConfig,
  type HandoverNote,
  handoverNote,
  type HandoverTarget,
  passedNote,
  saysHandedOver,
  UNNAMED_AGENT,
} from '../agent/flow/handover.js';
import { resolveHandover } from '../agent/extensions/handover.js';
import type { ChatMessage, ToolCall, ToolSpec } from '../agent/chat.js';
import { fillVariables, type Variables, variablesOf } from '../agent/variables.js';
import { ParleyError } from '../base/errors.js';
import { textArgument } from '../conversation/actions/call-arguments.js';
import {
  givenVariables,
  handBack,
  handBackTool,
  handOverTool,
  targetNamed,
  whyNotTo,
} from '../conversation/actions/handover.js';
import { faultOf } from '../schema/issues.js';
import { refusal } from '../session/open-commands.js';
import type { OtherAgents, SessionAgent } from '../session/session-options.js';
import type { AgentRequest, AgentSource, ChatRequest, NamedAgent } from './options.js';

/** Agents that one conversation can reach; more are left out. */
const MOST_AGENTS = 50;

type Handing = Pick<AgentRequest, 'extensions' | 'agents'>;

/**
 * The agent of a request, if it has an id, and those that a conversation with it can reach by hand-overs, as they are now:
 * those of the request, and those of the source. Ids without an agent are left out. The request's own agent is the one of
 * the request, which may be another version than the source has, so that a conversation that is handed back goes on with it.
 */
export async function reachableAgents(
  { agent: own, extensions, script, tools, agents, agentId }: AgentRequest,
  source: AgentSource | null,
): Promise<Readonly<Record<string, NamedAgent>>> {
  const found: Record<string, NamedAgent> = {};
  const open = [...(agentId == null ? [] : [agentId]), ...targetIds(extensions)];
  for (let id = open.shift(); id !== undefined; id = open.shift()) {
    if (Object.hasOwn(found, id) || Object.keys(found).length >= MOST_AGENTS) continue;
    const named = await agentOf(id, { agents }, source);
    if (named === null) continue;
    const agent = id === agentId ? { name: named.name, agent: own, extensions, script, tools } : named;
    found[id] = agent;
    open.push(...targetIds(agent.extensions));
  }
  return found;
}

/** Faults of targets that do not exist, with their places in the extensions. */
export async function unknownTargets(
  { extensions, agents }: Handing,
  source: AgentSource | null,
): Promise<ParleyError[]> {
  const faults = await Promise.all(
    targetIds(extensions).map(async (id, at) => {
      if ((await agentOf(id, { agents }, source)) !== null) return null;
      return faultOf(['extensions', 'handover', 'agents', at, 'agent_id'], `there is no agent "${id}"`);
    }),
  );
  return faults.filter((fault) => fault !== null);
}

/** The core's settings of an agent that may hand over; targets that do not exist are left out, and named to `onMissing`. */
export function handoverConfig(
  { extensions, agents }: Handing,
  variables: Variables,
  onMissing: (id: string) => void,
): HandoverConfig | null {
  const nameOf = (id: string): string | null => {
    const agent = givenAgent(agents, id);
    if (agent === null) onMissing(id);
    return agent?.name ?? null;
  };
  return resolveHandover(extensions?.handover, nameOf, (text) => fillVariables(text ?? '', variables));
}

interface OtherAgentsOptions {
  request: Handing;
  source: AgentSource | null;
  /** Why this session keeps its agent; null = it need not. */
  whyNot: string | null;
  /** Prepares an agent for the session. @throws ParleyError */
  make: (
    ref: AgentRef & { id: string },
    agent: NamedAgent,
    variables: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<SessionAgent>;
}

/** The agents to whom a session may hand over. Each is prepared once, again with other variables. */
export function otherAgents({ request, source, whyNot, make }: OtherAgentsOptions): OtherAgents {
  const prepared = new Map<string, Promise<SessionAgent>>();
  return {
    nameOf: async (id) => (await agentOf(id, request, source))?.name ?? null,
    prepare: async ({ id, name }, variables, signal) => {
      if (whyNot !== null) throw refusal('handover', 'unsupported', whyNot);
      if (id === null) throw new ParleyError('NOT_FOUND', { what: 'agent', id: name });
      const key = JSON.stringify([id, variables]);
      const known = prepared.get(key);
      if (known !== undefined) return known;
      const making = agentOf(id, request, source).then((agent) => {
        if (agent === null) throw new ParleyError('NOT_FOUND', { what: 'agent', id });
        return make({ id, name }, agent, variables, signal);
      });
      prepared.set(key, making);
      making.catch(() => prepared.delete(key)); // the next time it is tried again
      return making;
    },
  };
}

function targetIds(extensions: AgentExtensions | null | undefined): string[] {
  return (extensions?.handover?.agents ?? []).map(({ agent_id: id }) => id);
}

async function agentOf(
  id: string,
  { agents }: Pick<AgentRequest, 'agents'>,
  source: AgentSource | null,
): Promise<NamedAgent | null> {
  return givenAgent(agents, id) ?? (await source?.get(id)) ?? null;
}

/** An agent that comes with the request; null = none has this id. */
function givenAgent(agents: AgentRequest['agents'], id: string): NamedAgent | null {
  return agents != null && Object.hasOwn(agents, id) ? (agents[id] ?? null) : null;
}

interface ChatHandover {
  callId: string;
  from: AgentRef;
  to: AgentRef;
  back: boolean;
  /** Index of the message with the call, of the user's last one before it, and of the first that the next agent sees. */
  at: number;
  asked: number;
  since: number;
  note: string;
}

/** An agent of a conversation in writing. */
interface ChatAgent {
  ref: AgentRef;
  request: ChatRequest;
  handover: HandoverConfig | null;
}

/** What came of a call that hands a conversation over. */
export type ChatHandoverResult =
  | { refused: string }
  | { request: ChatRequest; from: AgentRef; to: AgentRef; back: boolean; announcement: string | null };

/**
 * The agents of a conversation in writing. Requests share no state: the calls in the messages say which agent has the
 * conversation.
 */
export class ChatAgents {
  readonly #request: ChatRequest;
  readonly #onMissing: (id: string) => void;
  readonly #handovers: ChatHandover[] = [];
  readonly #first: AgentRef;
  #current: ChatAgent;
  /** Who has handed the conversation to whom, the last one first. */
  #returns: ChatAgent[] = [];
  /** The same before each hand-over. */
  readonly #before: { current: ChatAgent; returns: ChatAgent[] }[] = [];

  constructor(request: ChatRequest, onMissing: (id: string) => void) {
    this.#request = request;
    this.#onMissing = onMissing;
    const id = request.agentId ?? null;
    const name = (id === null ? null : request.agents?.[id]?.name) ?? id ?? UNNAMED_AGENT.name;
    this.#first = { id, name };
    this.#current = this.#agent(this.#first, request);
    const results = new Map(
      request.messages.flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, one.content]] : [])),
    );
    for (const [at, message] of request.messages.entries()) {
      for (const call of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
        if (this.isHandover(call) && saysHandedOver(results.get(call.id) ?? '')) this.#take(call, request.messages, at);
      }
    }
  }

  /** The request as if it were for the agent that has the conversation. */
  get request(): ChatRequest {
    return this.#current.request;
  }

  /** Whether the agent of the request has it. */
  get isFirst(): boolean {
    return this.#current.request === this.#request;
  }

  get tools(): ToolSpec[] {
    const { handover } = this.#current;
    const [back] = this.#returns;
    return [
      ...(handover === null ? [] : [handOverTool(handover)]),
      ...(back === undefined ? [] : [handBackTool(back.ref.name)]),
    ];
  }

  /** What the agent was told when it got the conversation; null = it is the first. */
  get note(): string | null {
    return this.#handovers.at(-1)?.note ?? null;
  }

  isHandover({ name }: ToolCall): boolean {
    return this.tools.some((tool) => tool.name === name);
  }

  /** The conversation goes to another agent. @param messages those so far; the call comes next */
  take(call: ToolCall, messages: readonly ChatMessage[]): ChatHandoverResult {
    return this.#take(call, messages, messages.length);
  }

  /** The latest hand-over has come to nothing: the agent cannot be prepared. */
  undo(): void {
    const last = this.#before.pop();
    if (last === undefined) return;
    this.#handovers.pop();
    [this.#current, this.#returns] = [last.current, last.returns];
  }

  /** What the agent that has the conversation sees of it. */
  seen(messages: readonly ChatMessage[]): ChatMessage[] {
    const current = this.#handovers.at(-1);
    if (current === undefined) return [...messages];
    const passed = new Map(this.#handovers.map((one) => [one.callId, one]));
    const arrival = current.back ? arrivalOf(this.#handovers, current.to) : undefined;
    const isTold = (one: ChatHandover): boolean => one === current || one === arrival;
    return messages.flatMap((message, at): ChatMessage[] => {
      const isSeen = at >= current.since || at === current.asked || at === arrival?.asked;
      if (message.role === 'tool' && passed.has(message.toolCallId)) return [];
      const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
      const [handover] = calls.flatMap(({ id }) => passed.get(id) ?? []);
      if (handover === undefined) return isSeen ? [message] : [];
      const said: ChatMessage[] =
        message.content === '' || !isSeen ? [] : [{ role: 'assistant', content: message.content }];
      if (!isTold(handover) && !isSeen) return [];
      return [...said, { role: 'system', content: isTold(handover) ? handover.note : passedNote(handover) }];
    });
  }

  /**
   * What was said while the agent had the conversation that has it now, and what the user waits to have answered. Only
   * its own calls say where it is in its flow. Handed over to anew, it begins anew; what comes back goes on.
   */
  own(messages: readonly ChatMessage[]): ChatMessage[] {
    const { id } = this.#current.ref;
    const began = arrivalOf(this.#handovers, this.#current.ref)?.at ?? -1;
    const asked = this.#handovers.at(-1)?.asked;
    const hadIt = (at: number): boolean =>
      (this.#handovers.findLast((one) => one.at < at)?.to ?? this.#first).id === id;
    return messages.filter((_message, at) => at === asked || (at > began && hadIt(at)));
  }

  #take(call: ToolCall, messages: readonly ChatMessage[], at: number): ChatHandoverResult {
    const { ref: from, handover } = this.#current;
    const [back] = this.#returns;
    const asked = messages.slice(0, at).findLastIndex(({ role }) => role === 'user');
    if (call.name === handBack.name) {
      if (back === undefined) return { refused: 'nobody has handed it over to you' };
      this.#before.push({ current: this.#current, returns: this.#returns });
      this.#returns = this.#returns.slice(1);
      const since = arrivalOf(this.#handovers, back.ref)?.since ?? 0;
      this.#pass(call, { back: true, at, asked, since, announcement: null, variables: {} }, back);
      return { request: back.request, from, to: back.ref, back: true, announcement: null };
    }
    const target = handover === null ? null : targetNamed(handover, call);
    if (handover === null || target === null) return { refused: 'there is no such agent' };
    const thisTurn = this.#handovers.filter((one) => one.at > asked);
    const { maxHops } = handover;
    const refused = whyNotTo(target.agent, { self: from, hops: this.#handovers.length, maxHops, thisTurn });
    if (refused !== null) return { refused };
    const variables = this.#values(call, target.variables);
    const next = this.#next(target.agent, variables);
    if (next === null) return { refused: `there is no agent "${target.agent.id}"` };
    this.#before.push({ current: this.#current, returns: this.#returns });
    this.#returns = target.mayReturn ? [this.#current, ...this.#returns] : [];
    const { announcement } = target;
    const since = this.#since(target, textArgument(call.arguments, 'summary'), messages, at);
    this.#pass(call, { back: false, at, asked, since, announcement, variables }, next);
    return { request: next.request, from, to: target.agent, back: false, announcement };
  }

  #pass(
    call: ToolCall,
    about: Pick<ChatHandover, 'back' | 'at' | 'asked' | 'since'> & Pick<HandoverNote, 'announcement' | 'variables'>,
    next: ChatAgent,
  ): void {
    const { announcement, variables, ...place } = about;
    const [from, to] = [this.#current.ref, next.ref];
    const said = { reason: textArgument(call.arguments, 'reason'), summary: textArgument(call.arguments, 'summary') };
    const { back, asked } = place;
    const note = handoverNote({ ...said, from, to, back, variables, announcement, isAsked: asked >= 0 });
    this.#handovers.push({ ...place, callId: call.id, from, to, note });
    this.#current = next;
  }

  #next(ref: HandoverTarget['agent'], variables: Readonly<Record<string, string>>): ChatAgent | null {
    const { agents, metadata } = this.#request;
    const found = givenAgent(agents, ref.id);
    if (found === null) return null;
    const { agent, extensions = null, script, tools = [] } = found;
    const own = { agent, extensions, script, tools, agentId: ref.id, metadata: { ...metadata, ...variables } };
    return this.#agent(ref, { ...this.#request, ...own });
  }

  #agent(ref: AgentRef, request: ChatRequest): ChatAgent {
    const variables = variablesOf({ metadata: request.metadata ?? {} });
    return { ref, request, handover: handoverConfig(request, variables, this.#onMissing) };
  }

  #values(call: ToolCall, names: readonly string[]): Readonly<Record<string, string>> {
    const known = variablesOf({ metadata: this.#current.request.metadata ?? {} });
    const given = Object.entries(givenVariables(call, names)).map(([name, value]) => [name, value ?? known.get(name)]);
    return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Record<string, string>;
  }

  /** An agent passes on no more than it sees itself. */
  #since(
    { plan, messages: count }: HandoverTarget,
    summary: string | null,
    messages: readonly ChatMessage[],
    at: number,
  ): number {
    const own = this.#handovers.at(-1)?.since ?? 0;
    if (plan === 'all') return own;
    if (plan !== 'last' && (plan !== 'summary' || summary !== null)) return at + 1;
    let left = count;
    let first = at;
    while (first > own && left > 0) {
      const message = messages[--first];
      if (message?.role === 'user' || (message?.role === 'assistant' && message.content !== '')) left--;
    }
    // A result never stays without its call.
    while (messages[first]?.role === 'tool') first++;
    return first;
  }
}
