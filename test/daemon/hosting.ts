import type { AgentRegistry, HostedAgent } from '../../src/daemon/agents/agents.js';

/** A registry that has one agent, whatever the id. */
export function hosting(
  agent: HostedAgent,
  onAsked: (id: string) => void = () => undefined,
): Pick<AgentRegistry, 'get' | 'forConversation'> {
  return {
    get: () => agent,
    forConversation: async (id) => {
      onAsked(id);
      return { ...agent, version: 1 };
    },
  };
}
