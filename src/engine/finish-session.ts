import { buildSystemPrompt } from '../agent/prompt.js';
import { afterCall } from '../session/after-call/after-call.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import { type FunctionCall, reportOf, type SessionReport } from '../session/record/session-report.js';
import { setUpAgent } from './agent-setup.js';
import { rememberWhenOver } from './continuation.js';
import { recallMemories } from './prepare-agent.js';
import type { EngineServices } from './services.js';
import type { LeftSession, UnfinishedSession } from './unfinished-session.js';

/** A model without answers, for a conversation that was not stored, or that only the agent's server knew. */
const SILENT_LLM: LlmProvider = {
  name: 'none',
  virtualTime: true,
  warmUp: async () => undefined,
  close: async () => undefined,
  async *complete() {},
};

/**
 * Completes the work after a session whose process died: runs the after-call functions that were not started before,
 * and stores memories. An agent that could not have a session any more runs none.
 * @returns the session's report
 */
export async function finishSession(
  services: EngineServices,
  session: UnfinishedSession,
  { parts, systemPrompt, ran }: LeftSession,
): Promise<SessionReport> {
  const faults = { ...parts.faults };
  const onFault = (name: string): void => void (faults[name] = (faults[name] ?? 0) + 1);
  let later: readonly FunctionCall[] = [];
  if (ran) {
    try {
      later = await runAfterCall(services, session, { parts, systemPrompt }, onFault);
    } catch {
      onFault('afterCall.failed');
    }
  }
  return reportOf({ ...parts, faults, functionCalls: [...parts.functionCalls, ...later] });
}

async function runAfterCall(
  services: EngineServices,
  { sessionId: id, facts, script, extensions, includeMetadataInPrompt }: UnfinishedSession,
  { parts: { messages, functionCalls, metrics }, systemPrompt }: Pick<LeftSession, 'parts' | 'systemPrompt'>,
  onFault: (name: string) => void,
): Promise<readonly FunctionCall[]> {
  const { agentConfig, agentId, metadata, phones, startUnixMs, optOut } = facts;
  const request = { agent: agentConfig, extensions, metadata, includeMetadataInPrompt, agentId, phones };
  const whole = { ...request, script: script ?? undefined };
  const { setup, faults } = await setUpAgent(services, whole, 'writing', { onFault });
  if (setup === null) throw faults[0];
  const { agent, memory } = await recallMemories(services, setup.agent, { id, agentId, onFault });
  const system = systemPrompt ?? buildSystemPrompt(agent, startUnixMs, 'writing');
  const { afterCallMarks } = services;
  const later = await afterCall(
    {
      id,
      clock: services.clock,
      optOut,
      toolbox: setup.toolbox,
      model: agent.llm.model,
      metadata,
      usage: metrics.usage,
      llm: optOut || agent.customLlm !== null || messages.length === 0 ? SILENT_LLM : setup.llm,
      memory,
      afterCallMarks,
    },
    [{ role: 'system', content: system }, ...messages],
    functionCalls,
    onFault,
  );
  const finished = Promise.resolve({ sessionId: id, messages });
  rememberWhenOver({ finished }, services.sessionMemory, { agent, agentId, phones });
  return later;
}
