import type { AgentConfig } from '../agent/agent.js';
import type { DefinedTool } from '../tools/define-tool.js';
import type { AgentRequest } from '../engine/options.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';

/** The agent under test. */
export interface EvalAgent {
  /** As it was named: a file, or an id with its version. */
  name: string;
  config: AgentConfig;
  script?: unknown;
  extensions?: AgentExtensions | null | undefined;
  /** Those to whom it may hand over, by id. Default none. */
  agents?: AgentRequest['agents'];
  /** Functions in code in addition to the agent's own. Default none. */
  tools?: readonly DefinedTool[];
  /** Null = it has none. */
  agentId: string | null;
}
