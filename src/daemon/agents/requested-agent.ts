import * as z from 'zod';
import type { AgentConfig } from '../../agent/agent.js';
import { type AgentExtensions, overriddenExtensions } from '../../agent/extensions/extensions.js';
import { movedParts } from '../../agent/extensions/old-place.js';
import { overriddenAgent } from '../../agent/override-agent.js';
import { restoreSecrets } from '../../agent/redact.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import { ParleyError } from '../../base/errors.js';
import { faultOf } from '../../schema/issues.js';
import type { Author, VersionPin } from '../../store/agents.js';
import type { StoredKey } from '../../store/keys.js';
import type { AgentRegistry } from './agents.js';
import { checkAgent } from './check-agent.js';

/** The agent of a request. */
export interface RequestedAgent {
  /** Null = a temporary agent. */
  agentId: string | null;
  /** Null = a temporary agent. */
  agentVersion: number | null;
  agent: AgentConfig;
  extensions: AgentExtensions | null;
  script: unknown;
}

/** What a request says about the agent of a conversation. */
export interface AgentWish {
  agentConfig: AgentConfig | null;
  agentExtensions: AgentExtensions | null;
  /** Null = the published version, or that of a split. */
  agentVersion: VersionPin | null;
}

const CONFIG_PLACE = ['body', 'agent_config'];

/** A version in requests. */
export const versionPinSchema = z.union([z.int().min(1).max(1e9), z.enum(['draft', 'published'])]).meta({
  id: 'VersionPin',
  description: 'A version of the agent.',
});

/** The author of a change. The endpoints that change something require a key. */
export function authorOf(key: StoredKey | null): Author {
  return { id: key?.id ?? '', name: key?.name ?? '' };
}

/** Who talks with an agent, for a split; null = nobody knows. @param number of the person's phone */
export function callerOf(
  { memory }: AgentConfig,
  metadata: Readonly<Record<string, unknown>>,
  number: string | null = null,
): string | null {
  const key = memory?.user_identifier_key ?? '';
  for (const value of [number, key === '' ? null : metadata[key], metadata['user_id']]) {
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return null;
}

/**
 * The version of the stored agent, overridden by the number's configuration and then by the request's `agent_config` and
 * `agent_extensions`. Without a stored agent, only those of the request. A secret of `***` means the stored one.
 * @param caller as `VersionChoice`
 * @throws InvalidConfigError; ParleyError NOT_FOUND, AGENT_DISABLED
 */
export async function requestedAgent(
  agents: Pick<AgentRegistry, 'forConversation'>,
  agentId: string | null,
  { agentConfig, agentExtensions, agentVersion }: AgentWish,
  caller: string | null,
  between: AgentConfig | null = null,
): Promise<RequestedAgent> {
  if (agentId === null && agentVersion !== null) {
    throw faultOf(['body', 'agent_version'], 'Input should be null: only stored agents have versions');
  }
  const stored = agentId === null ? null : await agents.forConversation(agentId, { version: agentVersion, caller });
  const own = movedParts(between ?? {}, null); // stored by an earlier release
  const base = overriddenAgent(stored?.config ?? {}, own.config);
  const given = agentConfig === null ? null : restoreSecrets(agentConfig, base, CONFIG_PLACE);
  const agent = overriddenAgent(base, given);
  if (stored?.config.status === 'disabled' || agent.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
  const extensions = overriddenExtensions(overriddenExtensions(stored?.extensions, own.extensions), agentExtensions);
  return { agentId, agentVersion: stored?.version ?? null, agent, extensions, script: stored?.script };
}

/** @throws InvalidConfigError if this daemon cannot serve such a conversation */
export function checkRequestedAgent(
  engine: Engine,
  { agentId, agent, extensions, script }: RequestedAgent,
  request: Pick<AgentRequest, 'metadata' | 'includeMetadataInPrompt' | 'phones'>,
): Promise<unknown> {
  const whole = {
    ...request,
    agent,
    extensions,
    agentId,
    script,
  };
  return checkAgent(engine, whole, { config: CONFIG_PLACE });
}
