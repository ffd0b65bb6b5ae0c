import type { AgentConfig } from '../agent/agent.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';

/** The agent under test. */
export interface EvalAgent {
  /** As it was named: a file, or an id with its version. */
  name: string;
  config: AgentConfig;
  script?: unknown;
  extensions?: AgentExtensions | null | undefined;
  /** Null = it has none. */
  agentId: string | null;
}
