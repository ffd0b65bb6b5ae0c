import { oldPlaceWarnings } from '../config/extensions/old-place.js';
import type { Location } from '../config/issues.js';
import type { ResolvedAgent } from '../config/resolve.js';
import { modelWarnings } from './model-warnings.js';
import type { AgentRequest, EngineParts } from './options.js';

/** A part of an agent that will not work as its author may expect. It is no reason to refuse the agent. */
export interface AgentWarning {
  /** The field, within the configuration. */
  readonly loc: Location;
  /** A sentence for people: what is wrong, and what to do. */
  readonly msg: string;
}

/** What a check may look at. */
export interface CheckedAgent {
  request: AgentRequest;
  agent: ResolvedAgent;
  options: EngineParts;
}

/** Each looks at one thing. To warn of something else, add a check here. */
const CHECKS: readonly ((checked: CheckedAgent) => readonly AgentWarning[])[] = [
  ({ request: { agent: config, script, llm }, options }) =>
    llm === undefined ? modelWarnings({ config, script }, options) : [],
  ({ request: { agent: config } }) => oldPlaceWarnings(config),
];

/** The warnings about an agent that can have sessions here. */
export function agentWarnings(checked: CheckedAgent): AgentWarning[] {
  return CHECKS.flatMap((check) => check(checked));
}
