import { InvalidConfigError } from '../../config/issues.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../errors.js';
import type { PhoneStore, StoredPhone } from '../../store/phones.js';
import type { AgentRegistry } from '../agents.js';
import { checkRequestedAgent, requestedAgent, type RequestedAgent } from '../requested-agent.js';
import type { DialRequest } from './dial.js';

/** Who makes a call. */
export interface DialAgent extends RequestedAgent {
  /** As long as its call may last. */
  maxDurationS: number;
}

export interface DialAgentOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get'>;
  phones: Pick<PhoneStore, 'get'>;
  /** The longest of all calls. */
  longestS: number;
  /** Of an agent that sets none. */
  maxDurationS: number;
}

/**
 * The agent that calls from a number, checked: the number's own, or the one that was asked for.
 * @throws InvalidConfigError; ParleyError NUMBER_NOT_OWNED, NUMBER_INACTIVE, NOT_FOUND, AGENT_DISABLED
 */
export async function agentFor(request: DialRequest, options: DialAgentOptions): Promise<DialAgent> {
  const { from, to, metadata = {}, includeMetadataInPrompt = false, agentConfig = null } = request;
  const { engine, agents, longestS, maxDurationS } = options;
  const phone = phoneOf(from, options.phones);
  const agentId = request.agentId ?? phone.agentId;
  if (agentId === null && agentConfig === null) {
    const msg = `Field required: ${from} has no agent of its own`;
    throw new InvalidConfigError([{ loc: ['body', 'agent_id'], msg, type: 'missing' }]);
  }
  const requested = requestedAgent(agents, agentId, agentConfig, phone.agentConfigOverride);
  const { session_timeout: timeout } = requested.agent;
  const lastsS = Math.min(timeout?.max_duration ?? maxDurationS, longestS);
  const agent = { ...requested.agent, session_timeout: { ...timeout, max_duration: lastsS } };
  await checkRequestedAgent(
    engine,
    { ...requested, agent },
    { metadata, includeMetadataInPrompt, phones: { from, to } },
  );
  return { ...requested, agent, maxDurationS: lastsS };
}

/** @throws ParleyError NUMBER_NOT_OWNED, NUMBER_INACTIVE */
function phoneOf(number: string, phones: Pick<PhoneStore, 'get'>): StoredPhone {
  const phone = phones.get(number);
  if (phone === null) throw new ParleyError('NUMBER_NOT_OWNED', { number });
  if (phone.status !== 'active') throw new ParleyError('NUMBER_INACTIVE', { number });
  return phone;
}
