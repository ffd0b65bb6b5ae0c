import { randomUUID } from 'node:crypto';
import { CHAT_STATUS, chatReport } from './chat-report.js';
import type { Clock } from '../base/clock.js';
import { nowUnixMs } from '../base/real-clock.js';
import type { ChatMessage } from '../agent/chat.js';
import { buildSystemPrompt } from '../agent/prompt.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import type { GuardedClient } from '../net/guarded-client.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import { afterCall } from '../session/after-call/after-call.js';
import type { MemoryKeeper, MemoryStore, SessionMemory } from '../session/after-call/memory.js';
import type { FunctionCall } from '../session/record/session-report.js';
import type { McpServers } from '../tools/mcp/tools.js';
import { askForPrompt } from '../tools/prompt-webhook.js';
import type { Teller, Told } from './session-recorder.js';
import { ChatReply, type ReplyPiece } from './chat-reply.js';
import { customLlm } from './custom-llm.js';
import { rememberWhenOver } from './continuation.js';
import { remembering } from './memories.js';
import type { ChatRequest, EngineParts } from './options.js';
import type { Mind, Planner } from './agent-setup.js';
import type { UnfinishedChat } from './unfinished.js';
import { waitAtMost } from '../base/deadlines.js';

export type ChatPiece =
  /** The agent has been found fit to answer; nothing has been asked of its model yet. */
  | { type: 'begun'; sessionId: string; model: string }
  | ReplyPiece
  /** The answer is complete. `added` is what it adds to the conversation: words, calls of tools and their results. */
  | { type: 'done'; added: readonly ChatMessage[]; promptTokens: number; completionTokens: number };

export interface ChatsOptions {
  options: EngineParts;
  planner: Planner;
  mcp: McpServers;
  client: GuardedClient;
  aftermath: Teller;
  memories: MemoryStore;
  sessionMemory: SessionMemory;
  clock: Clock;
  networkClock: Clock;
}

/** One chat: what is known of it from its beginning to what comes after. */
interface Chat {
  id: string;
  request: ChatRequest;
  startMs: number;
  startUnixMs: number;
  mind: Mind;
  memory: MemoryKeeper | undefined;
  systemPrompt: string;
  llm: LlmProvider;
  faults: Map<string, number>;
}

/** Where the engine answers in writing. */
export class Chats {
  readonly #options: ChatsOptions;
  readonly #running = new Map<AbortController, Promise<void>>();
  readonly #ending = new Set<Promise<void>>();
  #closed = false;

  constructor(options: ChatsOptions) {
    this.#options = options;
  }

  /** See `Engine.chat`. */
  async *answer(request: ChatRequest): AsyncGenerator<ChatPiece, void, undefined> {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    const abort = new AbortController();
    const onAbort = (): void => abort.abort(request.signal.reason);
    request.signal.addEventListener('abort', onAbort, { once: true });
    if (request.signal.aborted) onAbort();
    let over: () => void = () => undefined;
    this.#running.set(abort, new Promise((resolve) => (over = resolve)));
    try {
      yield* this.#answer(request, abort.signal);
    } finally {
      this.#running.delete(abort);
      over();
      request.signal.removeEventListener('abort', onAbort);
    }
  }

  /** Breaks off the answers that are being given, and sees what comes after chats through. May be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = new ParleyError('SESSION_CLOSED');
    const over = [...this.#running].map(([abort, isOver]) => {
      abort.abort(closed);
      return isOver;
    });
    // An answer breaks off when its reader asks for the next piece; one who does not is not waited for.
    await waitAtMost(this.#options.networkClock, READERS_MS, Promise.all(over));
    await Promise.all(this.#ending);
  }

  async *#answer(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatPiece, void, undefined> {
    const chat = await this.#begin(request, signal);
    const { agent, toolbox } = chat.mind;
    const { id: sessionId, llm, systemPrompt } = chat;
    const reply = new ChatReply({
      llm,
      systemPrompt,
      toolbox,
      sessionId,
      signal,
      metadata: agent.metadata,
      clock: this.#options.clock,
      model: llm === chat.mind.llm ? agent.llm.model : llm.name,
      temperature: agent.llm.temperature,
      history: agent.history,
    });
    let ending: Promise<void> | null = null;
    let failure: string | null = BROKEN_OFF;
    try {
      yield { type: 'begun', sessionId, model: agent.llm.model };
      yield* this.#pieces(chat, reply);
      failure = null;
    } catch (error) {
      if (!signal.aborted) failure = reasonOf(error);
      throw error;
    } finally {
      ending = this.#end(chat, reply, failure);
    }
    const { promptTokens, completionTokens } = reply.usage.tokens;
    yield { type: 'done', added: reply.added, promptTokens, completionTokens };
    await ending;
  }

  /** What the agent has to say: its opening, an answer, or nothing. */
  async *#pieces({ mind: { agent }, request, llm }: Chat, reply: ChatReply): AsyncGenerator<ReplyPiece> {
    const { messages, endOfSession = false } = request;
    const isNew = messages.every(({ role }) => role === 'system');
    if (isNew) {
      const { firstMessage, userStarts } = agent.opening;
      if (userStarts) return;
      if (firstMessage !== null) {
        yield* reply.say(firstMessage);
        return;
      }
    }
    // Where the last word was the agent's nobody asked: there is nothing to answer, or it may have nothing to add.
    const isAsked = messages.at(-1)?.role !== 'assistant';
    if (endOfSession && !isAsked) return;
    yield* reply.pieces(messages);
    if (reply.hasSpoken || !isAsked) return;
    throw new ParleyError('PROVIDER_FAILED', { provider: llm.name, reason: 'it said nothing' });
  }

  async #begin(request: ChatRequest, signal: AbortSignal): Promise<Chat> {
    const { planner, mcp, clock, memories, networkClock } = this.#options;
    const id = request.id ?? randomUUID();
    const [startMs, startUnixMs] = [clock.nowMs(), nowUnixMs()];
    const faults = new Map<string, number>();
    const onFault = (name: string): void => void faults.set(name, (faults.get(name) ?? 0) + 1);
    const notes = { onFault };
    await mcp.warmUp();
    let mind = await planner.mind(request, notes);
    if (mind.agent.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    if (mind.refusal !== null) throw mind.refusal;
    const extra = await this.#extraPrompt(mind.agent, id, request, signal, onFault);
    if (extra !== null) {
      const metadata = { ...mind.agent.metadata, ...extra.metadata };
      mind = await planner.mind({ ...request, metadata }, { ...notes, extraPrompt: extra.extraPrompt });
    }
    const { agentId = null } = request;
    const { agent, memory } = await remembering(mind.agent, {
      store: memories,
      clock: networkClock,
      agentId,
      sessionId: id,
      nowUnixMs,
      onFault: () => onFault('memory.failed'),
    });
    signal.throwIfAborted();
    mind = { ...mind, agent };
    const chat = {
      id,
      request,
      startMs,
      startUnixMs,
      mind,
      memory,
      faults,
      systemPrompt: buildSystemPrompt(agent, startUnixMs, 'writing'),
      llm: this.#llm(mind, request, id, onFault),
    };
    if (request.endOfSession === true)
      this.#keep(chat, { messages: saidBefore(request), functionCalls: [], durationMs: 0 });
    return chat;
  }

  /** So that what comes after the end is done also where the process dies before. */
  #keep({ id, request, startUnixMs, mind, faults }: Chat, chat: UnfinishedChat): void {
    const { agent } = mind;
    const nothing = { messages: [], functionCalls: [] };
    try {
      this.#options.options.unfinished?.put({
        sessionId: id,
        to: agent.webhooks.sessionData,
        facts: factsOf(request, mind, startUnixMs),
        script: request.script ?? null,
        extensions: request.extensions ?? null,
        includeMetadataInPrompt: request.includeMetadataInPrompt ?? false,
        chat: agent.privacy.optOut ? { ...chat, ...nothing } : chat,
      });
    } catch {
      faults.set('history.failed', 1);
    }
  }

  /** Null where there is none. */
  async #extraPrompt(
    agent: ResolvedAgent,
    sessionId: string,
    request: ChatRequest,
    signal: AbortSignal,
    onFault: (name: string) => void,
  ): Promise<Awaited<ReturnType<typeof askForPrompt>> | null> {
    const { metadata, webhooks } = agent;
    const { agentId = null } = request;
    if (webhooks.extraPrompt === null) return null;
    try {
      const asked = { sessionId, agentId, phones: null, metadata, signal };
      return await askForPrompt(this.#options.client, webhooks.extraPrompt, asked);
    } catch {
      signal.throwIfAborted();
      onFault('extraPromptWebhook.failed');
      return null;
    }
  }

  /** The agent's own server, where it has one: it is dialled for this answer alone. */
  #llm({ agent, llm }: Mind, request: ChatRequest, id: string, onFault: (name: string) => void): LlmProvider {
    if (agent.customLlm === null || request.llm !== undefined) return llm;
    const { client, networkClock } = this.#options;
    const { agentId = null } = request;
    const custom = customLlm({
      address: agent.customLlm,
      guard: client.guard,
      clock: networkClock,
      facts: { agent_id: agentId, call_sid: null, session_id: id, metadata: agent.metadata, voip: null },
      onFinish: () => undefined, // there is no line to close, and nobody to connect
      onFault,
    });
    custom.llm.start();
    return custom.llm;
  }

  /** What comes after the answer. Resolves when all of it is done; never rejects. */
  #end(chat: Chat, reply: ChatReply, failure: string | null): Promise<void> {
    const { llm, mind, request } = chat;
    const ending = (request.endOfSession === true ? this.#endSession(chat, reply, failure) : Promise.resolve())
      .catch(() => undefined)
      .then(() => (llm === mind.llm ? undefined : llm.close()));
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
    return ending;
  }

  async #endSession(chat: Chat, reply: ChatReply, failure: string | null): Promise<void> {
    const { id, request, startMs, startUnixMs, mind, memory, faults, llm, systemPrompt } = chat;
    const { aftermath, sessionMemory, clock, options } = this.#options;
    const { agent, toolbox } = mind;
    const { agentId = null } = request;
    const noteFault = (name: string): void => void faults.set(name, (faults.get(name) ?? 0) + 1);
    const messages = [...saidBefore(request), ...reply.added];
    const durationMs = clock.nowMs() - startMs;
    this.#keep(chat, { messages, functionCalls: reply.calls, durationMs });
    const told: ChatMessage[] = [{ role: 'system', content: systemPrompt }, ...messages];
    const {
      metadata,
      llm: { model },
      privacy: { optOut },
    } = agent;
    const { usage } = reply;
    const marks = options.afterCallMarks ?? options.unfinished;
    const after = {
      id,
      toolbox,
      llm,
      model: llm === mind.llm ? model : llm.name,
      metadata,
      clock,
      usage,
      optOut,
      ...(memory !== undefined && { memory }),
      ...(marks !== undefined && { afterCallMarks: marks }),
    };
    const finished = afterCall(after, told, reply.calls, noteFault).then((later: readonly FunctionCall[]) =>
      chatReport({ id, durationMs, messages, calls: [...reply.calls, ...later], usage, faults, optOut }),
    );
    rememberWhenOver({ finished }, sessionMemory, { agent, agentId, phones: null });
    const to = agent.webhooks.sessionData;
    if (to === null && options.history === undefined) {
      await finished;
      return;
    }
    await aftermath.tell(
      { id, finished, noteFault },
      {
        to,
        facts: factsOf(request, mind, startUnixMs),
        outcome: () => Promise.resolve({ status: CHAT_STATUS, error: failure, carrier: null }),
      },
    );
  }
}

/** How long readers may take to notice that the engine closes. */
const READERS_MS = 2_000;
const BROKEN_OFF = 'the client left before the answer was complete';

function saidBefore({ messages }: ChatRequest): ChatMessage[] {
  return messages.filter(({ role }) => role !== 'system');
}

function factsOf(request: ChatRequest, { config, agent }: Mind, startUnixMs: number): Told['facts'] {
  const agentId = request.agentId ?? null;
  return {
    agentId,
    agentConfig: config,
    callId: null,
    campaignId: null,
    phones: null,
    direction: 'inbound' as const,
    startUnixMs,
    metadata: agent.metadata,
    recordingUrl: null,
    optOut: agent.privacy.optOut,
  };
}
