import type { AgentConfig } from './agent.js';

/**
 * An agent with fields replaced, one by one, by those of an override. A field that is null or left out replaces nothing;
 * a voice without a provider keeps the provider that it replaces.
 */
export function overriddenAgent(agent: AgentConfig, override: AgentConfig | null | undefined): AgentConfig {
  const fields = Object.fromEntries(Object.entries(override ?? {}).filter(([, value]) => value != null)) as AgentConfig;
  const provider = agent.voice?.provider;
  if (fields.voice != null && fields.voice.provider == null && provider != null) {
    fields.voice = { ...fields.voice, provider };
  }
  return { ...agent, ...fields };
}
