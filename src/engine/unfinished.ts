import type { Clock } from '../base/clock.js';
import { nowUnixMs } from '../base/real-clock.js';
import type { ChatMessage } from '../agent/chat.js';
import { buildSystemPrompt } from '../agent/prompt.js';
import type { WebhookAddress } from '../agent/webhook.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import { afterCall, type AfterCallMarks } from '../session/after-call/after-call.js';
import type { CallFacts } from '../session/record/call-history.js';
import type { MemoryStore, SessionMemory } from '../session/after-call/memory.js';
import { type FunctionCall, reportOf, type ReportParts, type SessionReport } from '../session/record/session-report.js';
import { rememberWhenOver } from './continuation.js';
import { remembering } from './memories.js';
import type { AgentRequest } from './options.js';
import type { Planner } from './agent-setup.js';

/** What it takes to finish a session after the process that ran it has died. Plain data. */
export interface UnfinishedSession extends Required<Pick<AgentRequest, 'includeMetadataInPrompt'>> {
  sessionId: string;
  /** The agent's `session_data_webhook`; null = it has none. */
  to: WebhookAddress | null;
  facts: Omit<CallFacts, 'outcome'>;
  /** Rules of the scripted model; null = none. */
  script: unknown;
  /** Left out by releases that had none. */
  extensions?: AgentRequest['extensions'];
  /** What a chat has come to, which has no event log; null for a spoken session. */
  chat: UnfinishedChat | null;
}

export interface UnfinishedChat {
  /** Empty where nothing of them may be kept. */
  messages: readonly ChatMessage[];
  functionCalls: readonly FunctionCall[];
  durationMs: number;
}

/** Keeps sessions from their beginning until all that follows them is done. What it keeps survives the process. */
export interface UnfinishedSessions extends AfterCallMarks {
  /** Keeps a session, or brings it up to date. */
  put(session: UnfinishedSession): void;
  /** The session is kept in the history and its webhook is in the outbox. */
  remove(sessionId: string): void;
}

/** What an unfinished session has left behind. */
export interface LeftSession {
  parts: ReportParts;
  /** What its model was told to be; null = it is made anew. */
  systemPrompt: string | null;
  /** Whether anybody talked. Nothing follows a session that never ran. */
  ran: boolean;
}

export interface FinishOptions {
  planner: Pick<Planner, 'mind'>;
  memories: MemoryStore;
  sessionMemory: SessionMemory;
  afterCallMarks: AfterCallMarks | undefined;
  clock: Clock;
  networkClock: Clock;
}

/** Nothing is known of a conversation that nothing was kept of, or that only the agent's own server knew. */
const NOBODY: LlmProvider = {
  name: 'nobody',
  virtualTime: true,
  warmUp: async () => undefined,
  close: async () => undefined,
  async *complete() {},
};

/**
 * Does what comes after a session whose process died: runs the functions that run after a call, unless they were started
 * before, and keeps what is remembered of it. An agent that could have no session any more runs none.
 * @returns the session's report
 */
export async function finishSession(
  { sessionId: id, facts, script, extensions, includeMetadataInPrompt }: UnfinishedSession,
  { parts, systemPrompt, ran }: LeftSession,
  options: FinishOptions,
): Promise<SessionReport> {
  const { planner, memories, sessionMemory, afterCallMarks, clock, networkClock } = options;
  const { agentConfig, agentId, metadata, phones, startUnixMs, optOut } = facts;
  const { messages, functionCalls: calls, ledger } = parts;
  const faults = { ...parts.faults };
  const onFault = (name: string): void => void (faults[name] = (faults[name] ?? 0) + 1);
  let later: readonly FunctionCall[] = [];
  if (ran) {
    try {
      const mind = await planner.mind(
        {
          agent: agentConfig,
          extensions,
          metadata,
          includeMetadataInPrompt,
          ...(script !== null && { script }),
          ...(agentId !== null && { agentId }),
          ...(phones !== null && { phones }),
        },
        { onFault },
      );
      const kept = { store: memories, clock: networkClock, agentId, sessionId: id, nowUnixMs };
      const { agent, memory } = await remembering(mind.agent, { ...kept, onFault: () => onFault('memory.failed') });
      const system = systemPrompt ?? buildSystemPrompt(agent, startUnixMs, 'writing');
      later = await afterCall(
        {
          id,
          clock,
          optOut,
          toolbox: mind.toolbox,
          model: agent.llm.model,
          metadata,
          usage: ledger.usage,
          llm: optOut || agent.customLlm !== null || messages.length === 0 ? NOBODY : mind.llm,
          ...(memory !== undefined && { memory }),
          ...(afterCallMarks !== undefined && { afterCallMarks }),
        },
        [{ role: 'system', content: system }, ...messages],
        calls,
        onFault,
      );
      rememberWhenOver({ finished: Promise.resolve({ sessionId: id, messages }) }, sessionMemory, {
        agent,
        agentId,
        phones,
      });
    } catch {
      onFault('afterCall.failed');
    }
  }
  return reportOf({ ...parts, faults, functionCalls: [...calls, ...later] });
}
