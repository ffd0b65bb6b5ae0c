import { randomUUID } from 'node:crypto';
import { withTimeout } from '../base/deadlines.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { nowUnixMs } from '../base/real-clock.js';
import type { ChatMessage, ToolCall } from '../agent/chat.js';
import type { ReplyShape } from '../providers/llm/llm.js';
import { faultOf } from '../schema/issues.js';
import { variablesOf } from '../agent/variables.js';
import { type WebhookAddress, webhookAddress } from '../agent/webhook.js';
import { toolNameFaults } from '../tools/toolbox.js';
import { buildSystemPrompt } from '../agent/prompt.js';
import { refusal } from '../session/open-commands.js';
import { afterCall } from '../session/after-call/after-call.js';
import type { FunctionCall, SessionReport } from '../session/record/session-report.js';
import { callFacts, unfinishedSession } from './call-facts.js';
import { CHAT_STATUS, chatReport, FaultCounts } from './chat-report.js';
import { type ChatNextSpeaker, ChatReply, type ChatSpeaker, type ReplyPiece } from './chat-reply.js';
import { ChatAgents } from './handover.js';
import type { SessionRecord } from './session-recorder.js';
import { asksForCards, CardNumbers } from '../session/record/cards.js';
import { ChatSteps } from './chat-steps.js';
import { rememberWhenOver } from './continuation.js';
import type { ChatRequest, ReplyForm } from './options.js';
import { prepareAgent, type PreparedAgent } from './prepare-agent.js';
import { RunningAnswers } from './running-answers.js';
import type { EngineServices } from './services.js';
import type { UnfinishedChat } from './unfinished-session.js';

export type ChatPiece =
  /** The agent is set up; its model has not been asked yet. */
  | { type: 'begun'; sessionId: string; model: string; shapes: readonly ReplyShape[] }
  | ReplyPiece
  /** The answer is complete. `added`: the messages that it adds: words, tool calls and their results. */
  | { type: 'done'; added: readonly ChatMessage[]; promptTokens: number; completionTokens: number; cutOff: boolean };

/** One chat: its facts from the beginning to the after-call work. */
interface Chat {
  id: string;
  request: ChatRequest;
  startMs: number;
  startUnixMs: number;
  /** Which agent has the conversation. */
  agents: ChatAgents;
  /** That agent. */
  prepared: PreparedAgent;
  /** All agents of this answer. */
  all: PreparedAgent[];
  /** Of the agent of the request, whoever has the conversation: what is kept of it, and where that is sent. */
  facts: SessionRecord['facts'];
  to: WebhookAddress | null;
  systemPrompt: string;
  form: ReplyForm;
  steps: ChatSteps | null;
  /** Those of the agent of the request; null = it has none, or has not answered now. */
  firstSteps: ChatSteps | null;
  cards: CardNumbers;
  faults: FaultCounts;
}

/** The text conversations of an engine. */
export class Chats {
  readonly #services: EngineServices;
  readonly #running: RunningAnswers;
  readonly #ending = new Set<Promise<void>>();

  constructor(services: EngineServices) {
    this.#services = services;
    this.#running = new RunningAnswers(services.networkClock);
  }

  /** See `Engine.chat`. */
  answer(request: ChatRequest): AsyncGenerator<ChatPiece, void, undefined> {
    return this.#running.pass(request.signal, (signal) => this.#answer(request, signal));
  }

  /** Aborts running answers, and completes the work after chats. May be called twice. */
  async close(): Promise<void> {
    await this.#running.close();
    await Promise.all(this.#ending);
  }

  async *#answer(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatPiece, void, undefined> {
    const chat = await this.#begin(request, signal);
    const { id: sessionId, prepared, agents } = chat;
    const { agent, llm } = prepared;
    const reply = new ChatReply({
      speaker: speakerOf(chat),
      agents,
      handOver: (call, messages) => this.#handOver(chat, { call, messages }, signal),
      sessionId,
      signal,
      clock: this.#services.clock,
      form: chat.form,
      cards: chat.cards,
      onFault: chat.faults.note,
    });
    let ending: Promise<void> | null = null;
    let failure: string | null = BROKEN_OFF;
    try {
      yield { type: 'begun', sessionId, model: agent.llm.model, shapes: llm.shapes ?? [] };
      yield* this.#pieces(chat, reply);
      failure = null;
    } catch (error) {
      if (!signal.aborted) failure = reasonOf(error);
      throw error;
    } finally {
      ending = this.#end(chat, reply, failure);
    }
    const { promptTokens, completionTokens } = reply.usage.tokens;
    yield { type: 'done', added: reply.added, promptTokens, completionTokens, cutOff: reply.isCutOff };
    await ending;
  }

  /** Another agent goes on with an answer, or the reason why not. */
  async #handOver(
    chat: Chat,
    { call, messages }: { call: ToolCall; messages: readonly ChatMessage[] },
    signal: AbortSignal,
  ): Promise<ChatNextSpeaker> {
    const { agents, faults, request, startUnixMs } = chat;
    const taken = agents.take(call, messages);
    if ('refused' in taken) return taken;
    try {
      const prepared = await withTimeout(this.#services.networkClock, HANDOVER_MS, (limit) =>
        this.#prepare(taken.request, chat, AbortSignal.any([signal, limit])),
      );
      const whyNot = whyNotAfter(chat.facts.optOut, prepared);
      if (whyNot !== null) {
        await prepared.close();
        throw refusal('handover', 'unsupported', whyNot);
      }
      const steps = stepsOf(prepared, agents.own(messages), startUnixMs);
      Object.assign(chat, { prepared, steps, systemPrompt: systemPromptOf(prepared, request, startUnixMs) });
      if (agents.isFirst) chat.firstSteps = steps;
      chat.all.push(prepared);
      const { from, to, back, announcement } = taken;
      return { speaker: speakerOf(chat), from, to, back, announcement };
    } catch (error) {
      signal.throwIfAborted();
      agents.undo();
      faults.note('handover.failed', reasonOf(error));
      return { refused: reasonOf(error) };
    }
  }

  /** @throws ParleyError as `Engine.chat`; COMMAND_REFUSED for an agent whose own server answers */
  async #prepare(request: ChatRequest, { id, faults }: Pick<Chat, 'id' | 'faults'>, signal: AbortSignal) {
    return prepareAgent(this.#services, request, 'writing', {
      id,
      onFault: faults.note,
      onFinish: () => undefined, // a chat has no line to close or transfer
      signal,
    });
  }

  /** The agent's words: its opening, an answer, or nothing. */
  async *#pieces({ prepared: { agent, llm }, request, steps }: Chat, reply: ChatReply): AsyncGenerator<ReplyPiece> {
    const { messages, endOfSession } = request;
    const isNew = messages.every(({ role }) => role === 'system');
    if (isNew) {
      const { firstMessage, userStarts } = agent.flow.opening;
      if (userStarts) return;
      if (firstMessage !== null) {
        yield* reply.say(firstMessage);
        if (steps === null || steps.opensWith(firstMessage)) return;
      }
    }
    // If the last message is the agent's, there may be nothing to answer.
    const isAsked = messages.at(-1)?.role !== 'assistant';
    if (endOfSession === true && !isAsked) return;
    yield* reply.pieces(messages);
    if (reply.hasSpoken || reply.awaitsClient || !isAsked) return;
    throw new ParleyError('PROVIDER_FAILED', { provider: llm.name, reason: 'it said nothing' });
  }

  /** @throws ParleyError CONFIG_INVALID for what this agent or its model cannot do */
  #form({ form }: ChatRequest, { toolbox, llm }: PreparedAgent, agents: ChatAgents): ReplyForm {
    const { clientTools, maxTokens, responseFormat } = form ?? {};
    const shapes = llm.shapes ?? [];
    const taken = [...agents.tools, ...toolbox.specs].map(({ name }) => name);
    const names = (clientTools ?? []).map(({ name }) => name);
    const [fault] = toolNameFaults(names, taken);
    if (fault !== undefined) throw faultOf(['form', 'clientTools'], fault.message);
    if (responseFormat != null && !shapes.includes('responseFormat')) {
      throw faultOf(['form', 'responseFormat'], `the model of this agent (${llm.name}) can only write text`);
    }
    return Object.assign({}, form, { maxTokens: shapes.includes('maxTokens') ? maxTokens : null });
  }

  async #begin(given: ChatRequest, signal: AbortSignal): Promise<Chat> {
    const id = given.id ?? randomUUID();
    const [startMs, startUnixMs] = [this.#services.clock.nowMs(), nowUnixMs()];
    const agentId = given.agentId ?? null;
    const faults = new FaultCounts((name, reason) =>
      this.#services.options.onChatFault?.({ sessionId: id, agentId }, name, reason),
    );
    const agents = new ChatAgents(given, (target) => faults.note('handover.missing', `there is no agent "${target}"`));
    const prepared = await this.#prepare(agents.request, { id, faults }, signal);
    const systemPrompt = systemPromptOf(prepared, given, startUnixMs);
    let form: ReplyForm;
    try {
      form = this.#form(given, prepared, agents);
    } catch (error) {
      await prepared.close();
      throw error;
    }
    const cards = new CardNumbers();
    // Whoever has the conversation now: clients send all messages again.
    const asks = [given, ...Object.values(given.agents ?? {})].some((one) =>
      asksForCards(one.extensions?.flow ?? null),
    );
    const request = asks ? withoutCards(given, cards) : given;
    const steps = stepsOf(prepared, agents.own(request.messages), startUnixMs);
    const chat: Chat = {
      id,
      request,
      steps,
      firstSteps: agents.isFirst ? steps : null,
      cards,
      startMs,
      startUnixMs,
      agents,
      prepared,
      all: [prepared],
      ...recordOf(given, prepared, agents.isFirst, startUnixMs),
      systemPrompt,
      form,
      faults,
    };
    prepared.customLlm?.llm.start(); // connected for this answer only
    if (request.endOfSession === true) {
      this.#keep(chat, { messages: saidBefore(request), functionCalls: [], durationMs: 0 });
    }
    return chat;
  }

  /** Makes the work after the session survive a crash. */
  #keep({ id, request, facts, to, faults }: Chat, chat: UnfinishedChat): void {
    const record = { to, facts };
    const kept = facts.optOut ? { ...chat, messages: [], functionCalls: [] } : chat;
    this.#services.options.unfinished?.put(unfinishedSession(id, record, request, kept)).catch(() => {
      faults.set('history.failed', 1);
    });
  }

  /** The work after the answer. Resolves when all of it is done; never rejects. */
  #end(chat: Chat, reply: ChatReply, failure: string | null): Promise<void> {
    const after = chat.request.endOfSession === true ? this.#endSession(chat, reply, failure) : Promise.resolve();
    const ending = after.catch(() => undefined).then(() => closeAll(chat.all));
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
    return ending;
  }

  async #endSession(chat: Chat, reply: ChatReply, failure: string | null): Promise<void> {
    const { id, request, startMs, facts, to, prepared, faults } = chat;
    const { recorder, sessionMemory, clock, options } = this.#services;
    const { agent } = prepared;
    const messages = [...saidBefore(request), ...reply.added];
    const durationMs = clock.nowMs() - startMs;
    this.#keep(chat, { messages, functionCalls: reply.calls, durationMs });
    const finished = this.#finished(chat, reply, messages, durationMs);
    const about = { agent, agentId: request.agentId ?? null, phones: null };
    if (!facts.optOut) rememberWhenOver({ finished }, sessionMemory, about);
    if (to === null && options.history == null) {
      await finished;
      return;
    }
    await recorder.record(
      { id, finished, noteFault: faults.note },
      {
        to,
        facts,
        outcome: () => Promise.resolve({ status: CHAT_STATUS, error: failure, carrier: null }),
      },
    );
  }

  /** Runs the after-call functions, and stores memories. */
  async #finished(
    { id, prepared, systemPrompt, faults, facts: { optOut }, firstSteps }: Chat,
    { calls, usage }: ChatReply,
    messages: readonly ChatMessage[],
    durationMs: number,
  ): Promise<SessionReport> {
    const { agent, toolbox, llm, model, memory } = prepared;
    const { clock, afterCallMarks } = this.#services;
    const later: readonly FunctionCall[] = await afterCall(
      {
        id,
        toolbox,
        llm,
        model,
        clock,
        usage,
        optOut,
        metadata: agent.metadata,
        memory,
        afterCallMarks,
      },
      [{ role: 'system', content: systemPrompt }, ...messages],
      calls,
      faults.note,
    );
    return chatReport({
      id,
      durationMs,
      messages,
      calls: [...calls, ...later],
      usage,
      faults,
      steps: firstSteps?.passed ?? [],
      optOut,
    });
  }
}

/** What is known of a conversation before its end. Who has it now may be another agent than that of the request. */
function recordOf(
  given: ChatRequest,
  prepared: PreparedAgent,
  isFirst: boolean,
  startUnixMs: number,
): Pick<Chat, 'facts' | 'to'> {
  const known = callFacts(given, prepared, startUnixMs);
  if (isFirst) return { facts: known, to: prepared.agent.webhooks.sessionData };
  const { agent } = given;
  const metadata = given.metadata ?? {};
  const optOut = known.optOut || agent.privacy_settings?.opt_out_data_collection === true;
  const to = webhookAddress(agent.session_data_webhook, variablesOf({ metadata }));
  return { facts: { ...known, agentConfig: agent, metadata, optOut }, to };
}

/** Why an agent cannot go on with a conversation that is stored, or is not; null = it can. */
function whyNotAfter(optOut: boolean, { agent, customLlm }: PreparedAgent): string | null {
  if (customLlm !== null) return "an agent's own server answers in place of its model";
  return agent.privacy.optOut && !optOut ? 'it opts out of data collection, and this conversation does not' : null;
}

async function closeAll(agents: readonly PreparedAgent[]): Promise<void> {
  await Promise.all(agents.map((agent) => agent.close()));
}

function systemPromptOf({ agent }: PreparedAgent, { context }: ChatRequest, startUnixMs: number): string {
  return [buildSystemPrompt(agent, startUnixMs, 'writing'), context ?? ''].filter((part) => part !== '').join('\n\n');
}

/** The steps of the agent's flow; null = it has none. */
function stepsOf(
  { agent: { steps: flow, timezone, language } }: PreparedAgent,
  messages: readonly ChatMessage[],
  startUnixMs: number,
): ChatSteps | null {
  return flow === null ? null : new ChatSteps({ flow, startUnixMs, timezone }, messages, language);
}

function speakerOf({ prepared: { agent, llm, model, toolbox }, systemPrompt, steps }: Chat): ChatSpeaker {
  const { metadata, history } = agent;
  return { llm, model, systemPrompt, toolbox, metadata, history, steps, temperature: agent.llm.temperature };
}

/** Longest wait for an agent to whom an answer is handed over. */
const HANDOVER_MS = 6_000;
const BROKEN_OFF = 'the client left before the answer was complete';

/** The request without the numbers of cards that its user has typed. */
function withoutCards(request: ChatRequest, cards: CardNumbers): ChatRequest {
  const messages = request.messages.map((message) => ({ ...message, content: cards.mask(message.content) }));
  return { ...request, messages };
}

function saidBefore({ messages }: ChatRequest): ChatMessage[] {
  return messages.filter(({ role }) => role !== 'system');
}
