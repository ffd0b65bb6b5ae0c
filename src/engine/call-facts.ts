import type { AgentConfig } from '../agent/agent.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import type { AgentRequest, SessionRequest } from './options.js';
import type { SessionRecord } from './session-recorder.js';
import type { UnfinishedChat, UnfinishedSession } from './unfinished-session.js';

/** The facts about a session or a chat that are known before its end. */
export function callFacts(
  request: AgentRequest & Pick<Partial<SessionRequest>, 'callId' | 'campaignId' | 'direction'>,
  { config, agent }: { config: AgentConfig; agent: ResolvedAgent },
  startUnixMs: number,
): SessionRecord['facts'] {
  return {
    agentId: request.agentId ?? null,
    callId: request.callId ?? null,
    campaignId: request.campaignId ?? null,
    phones: request.phones ?? null,
    direction: request.direction ?? 'inbound',
    startUnixMs,
    agentConfig: config,
    metadata: agent.metadata,
    recordingUrl: null,
    optOut: agent.privacy.optOut,
  };
}

/** @param chat null = the session is spoken */
export function unfinishedSession(
  sessionId: string,
  { to, facts }: Pick<SessionRecord, 'to' | 'facts'>,
  { script, extensions, includeMetadataInPrompt }: AgentRequest,
  chat: UnfinishedChat | null,
): UnfinishedSession {
  return {
    sessionId,
    to,
    facts,
    script: script ?? null,
    extensions: extensions ?? null,
    includeMetadataInPrompt: includeMetadataInPrompt ?? false,
    chat,
  };
}
