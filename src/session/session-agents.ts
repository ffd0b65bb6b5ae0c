import type { AgentRef } from '../agent/flow/handover.js';
import type { ChatMessage, ToolSpec } from '../agent/chat.js';
import { raceAbort, untilAborted, withTimeout } from '../base/deadlines.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { parseJson } from '../base/json.js';
import type { CommandOf, HandoverOrder, NextAgent } from '../conversation/control/command.js';
import type { ConversationEffect } from '../conversation/events.js';
import { refusal } from './open-commands.js';
import { tokensNote } from './record/usage.js';
import type { SessionContext } from './session-context.js';
import type { SessionAgent, SessionOptions } from './session-options.js';

export interface SessionAgentsOptions {
  /** The agent of the beginning. */
  first: SessionAgent;
  /** Null = the conversation stays with this agent. */
  others: SessionOptions['others'];
  messages: () => readonly ChatMessage[];
  /** Aborted when the session is over. */
  signal: AbortSignal;
}

/** Longest wait for a summary; without one the next agent gets the last messages. */
const SUMMARY_MS = 3000;
const SUMMARY_TOOL: ToolSpec = {
  name: 'summarize',
  description: 'Passes on what a colleague has to know who goes on with this conversation.',
  parameters: {
    type: 'object',
    properties: {
      summary: {
        type: 'string',
        description: 'A few sentences: who the user is, what they want, what is known and done.',
      },
    },
    required: ['summary'],
    additionalProperties: false,
  },
};

/** The agents of a session: who speaks, who has spoken, and who is prepared to. */
export class SessionAgents {
  readonly #context: SessionContext;
  readonly #options: SessionAgentsOptions;
  #current: SessionAgent;
  /** Agents that have had the conversation, and may have it back as they left it. */
  readonly #known = new Map<string | null, SessionAgent>();
  /** Agents that are ready, by id. */
  readonly #ready = new Map<string | null, SessionAgent>();
  /** Preparations in progress, by the call that wants them. */
  readonly #running = new Map<string, AbortController>();

  constructor(context: SessionContext, options: SessionAgentsOptions) {
    this.#context = context;
    this.#options = options;
    this.#current = options.first;
    this.#know(options.first);
  }

  /** Who speaks now. */
  get current(): SessionAgent {
    return this.#current;
  }

  /** The model that is asked. */
  get asked(): { provider: string; model: string } {
    const { llm, model } = this.#current;
    return { provider: llm.name, model };
  }

  /** All that have spoken. */
  get all(): readonly SessionAgent[] {
    return [...new Set(this.#known.values())];
  }

  /** Prepares those to whom the agent that speaks may hand over. Does not wait. */
  warmUp(): void {
    const { others, signal } = this.#options;
    for (const { agent } of this.#current.conversation.handover?.targets ?? []) {
      if (this.#known.has(agent.id)) continue;
      this.#settled(others?.prepare(agent, {}, signal)).catch((error: unknown) => {
        if (!signal.aborted) this.#context.fault('handover.unprepared', `${agent.name}: ${reasonOf(error)}`);
      });
    }
  }

  /** A `handover.ready` or `handover.failed` follows. */
  prepare({ callId, agent, summary, variables }: Extract<ConversationEffect, { type: 'agent.prepare' }>): void {
    const abort = new AbortController();
    this.#running.set(callId, abort);
    const signal = AbortSignal.any([abort.signal, this.#options.signal]);
    const work = this.#next(agent, { summary, variables }, signal);
    void work.then(
      (next) => {
        if (this.#running.delete(callId)) this.#context.emit({ type: 'handover.ready', callId, ...next });
      },
      (error: unknown) => {
        if (!this.#running.delete(callId)) return;
        const reason = reasonOf(error);
        this.#context.fault('handover.failed', `${agent.name}: ${reason}`);
        this.#context.emit({ type: 'handover.failed', callId, reason });
      },
    );
  }

  cancel(callId: string): void {
    this.#running.get(callId)?.abort();
    this.#running.delete(callId);
  }

  /** Prepares the agent of a program's command. @throws ParleyError COMMAND_REFUSED, NOT_FOUND; those of the agent */
  async order(agentId: string, order: HandoverOrder): Promise<CommandOf<'command.handover'>> {
    const { others, signal } = this.#options;
    const name = this.#known.get(agentId)?.agent.name ?? (await others?.nameOf(agentId)) ?? null;
    if (others == null) throw refusal('handover', 'unsupported', 'it has no other agents');
    if (name === null) throw new ParleyError('NOT_FOUND', { what: 'agent', id: agentId });
    const refuseIfCurrent = (): void => {
      if (agentId === this.#current.agent.id) throw refusal('handover', 'unsupported', 'this agent has it already');
    };
    refuseIfCurrent();
    const variables = Object.fromEntries(order.variables.map((one) => [one, null]));
    const wanted = { summary: order.plan === 'summary', variables };
    const next = await this.#next({ id: agentId, name }, wanted, signal);
    refuseIfCurrent(); // meanwhile it may have got the conversation
    return { type: 'command.handover', order, ...next };
  }

  /** The conversation is with this agent now. */
  become({ id }: AgentRef): SessionAgent {
    const next = this.#ready.get(id) ?? this.#known.get(id) ?? this.#current;
    this.#ready.delete(id);
    this.#current = next;
    this.#know(next);
    return next;
  }

  /** The agent that speaks was changed. */
  change(changed: Partial<SessionAgent>): void {
    this.#current = Object.assign({}, this.#current, changed);
    this.#know(this.#current);
  }

  #know(agent: SessionAgent): void {
    this.#known.set(agent.agent.id, agent);
  }

  async #next(
    agent: AgentRef,
    { summary, variables }: Pick<Extract<ConversationEffect, { type: 'agent.prepare' }>, 'summary' | 'variables'>,
    signal: AbortSignal,
  ): Promise<NextAgent> {
    const values = this.#values(variables);
    const known = Object.keys(values).length === 0 ? this.#known.get(agent.id) : undefined;
    const [next, told] = await Promise.all([
      known ?? this.#settled(this.#options.others?.prepare(agent, values, signal)),
      summary === true ? this.#summary(signal) : summary === false ? null : summary,
    ]);
    this.#ready.set(agent.id, next);
    return { agent, config: next.conversation, summary: told, variables: values };
  }

  /** Virtual time stands still meanwhile: this is work of the machine. */
  #settled(work: Promise<SessionAgent> | undefined): Promise<SessionAgent> {
    const { clock } = this.#context;
    const { signal } = this.#options;
    if (work === undefined) return Promise.reject(new Error('this session has no other agents'));
    return clock.settle(raceAbort(work, signal), clock.nowMs());
  }

  #values(variables: Readonly<Record<string, string | null>>): Record<string, string> {
    const { metadata = {} } = this.#current;
    return Object.fromEntries(
      Object.entries(variables).flatMap(([name, given]) => {
        const value = given ?? (Object.hasOwn(metadata, name) ? metadata[name] : null);
        return value == null ? [] : [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
      }),
    );
  }

  /** By the model of the agent that speaks. Null = it gave none in time. */
  async #summary(outer: AbortSignal): Promise<string | null> {
    const { llm, model, conversation } = this.#current;
    const { clock } = this.#context;
    const asked = 'Pass the conversation on: call summarize with what your colleague has to know.';
    try {
      return await withTimeout(
        clock,
        SUMMARY_MS,
        async (signal) => {
          const pieces = llm.complete({
            model,
            messages: [
              { role: 'system', content: conversation.systemPrompt },
              ...this.#options.messages(),
              { role: 'user', content: asked },
            ],
            tools: [SUMMARY_TOOL],
            requiredTool: SUMMARY_TOOL.name,
            temperature: 0,
            clock,
            signal,
          });
          for await (const piece of untilAborted(pieces, signal)) {
            if (piece.type === 'usage') this.#context.usage(tokensNote({ provider: llm.name, model }, piece));
            if (piece.type === 'toolCall') return summaryIn(piece.call.arguments);
          }
          return null;
        },
        outer,
      );
    } catch {
      return null;
    }
  }
}

function summaryIn(args: string): string | null {
  try {
    const { summary } = parseJson(args) as { summary?: unknown };
    return typeof summary === 'string' && summary.trim() !== '' ? summary.trim() : null;
  } catch {
    return null;
  }
}
