import type { AgentConfig } from '../../agent/agent.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import type { PhoneStore, StoredPhone } from '../../store/phones.js';
import type { AgentRegistry } from '../agents/agents.js';
import { checkRequestedAgent, requestedAgent, type RequestedAgent } from '../agents/requested-agent.js';
import type { DialRequest } from './dial.js';

/** The agent of an outbound call. */
export interface DialAgent extends RequestedAgent {
  /** The maximum duration of its call. */
  maxDurationS: number;
}

export interface DialAgentOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get'>;
  phones: Pick<PhoneStore, 'get'>;
  /** The operator's maximum for all calls. */
  longestS: number;
  /** The maximum for an agent that sets none. */
  maxDurationS: number;
}

/**
 * The checked agent of an outbound call: the requested one, or that of the number.
 * @throws InvalidConfigError; ParleyError NUMBER_NOT_OWNED, NUMBER_INACTIVE, AGENT_DISABLED, NOT_FOUND for an unknown
 * agent or session to continue
 */
export async function agentFor(request: DialRequest, options: DialAgentOptions): Promise<DialAgent> {
  const {
    from,
    to,
    metadata = {},
    includeMetadataInPrompt = false,
    agentConfig = null,
    agentExtensions = null,
  } = request;
  const { engine, agents, longestS, maxDurationS } = options;
  const phone = phoneOf(from, options.phones);
  const agentId = request.agentId ?? phone.agentId;
  if (agentId === null && agentConfig === null) {
    const msg = `Field required: ${from} has no agent`;
    throw new InvalidConfigError([{ loc: ['body', 'agent_id'], msg, type: 'missing' }]);
  }
  const requested = requestedAgent(agents, agentId, { agentConfig, agentExtensions }, phone.agentConfigOverride);
  const { session_timeout: timeout } = requested.agent;
  const lastsS = Math.min(timeout?.max_duration ?? maxDurationS, longestS);
  await checkRequestedAgent(engine, requested, { metadata, includeMetadataInPrompt, phones: { from, to } });
  if (request.continuation != null) await engine.checkContinuation(request.continuation, agentId);
  const isLimited = timeout?.max_duration != null;
  const limited = { ...requested.agent, session_timeout: { ...timeout, max_duration: lastsS } };
  return { ...requested, agent: isLimited ? limited : requested.agent, maxDurationS: lastsS };
}

/** The configuration of the call, always with a time limit. The log keeps the configuration without an added limit. */
export function timedConfig({ agent, maxDurationS }: DialAgent): AgentConfig {
  return { ...agent, session_timeout: { ...agent.session_timeout, max_duration: maxDurationS } };
}

/** @throws ParleyError NUMBER_NOT_OWNED, NUMBER_INACTIVE */
function phoneOf(number: string, phones: Pick<PhoneStore, 'get'>): StoredPhone {
  const phone = phones.get(number);
  if (phone === null) throw new ParleyError('NUMBER_NOT_OWNED', { number });
  if (phone.status !== 'active') throw new ParleyError('NUMBER_INACTIVE', { number });
  return phone;
}
