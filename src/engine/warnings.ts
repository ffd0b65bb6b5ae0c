import type { ParleyError } from '../base/errors.js';
import { oldPlaceWarnings } from '../agent/extensions/old-place.js';
import type { Location } from '../schema/issues.js';
import { EMBEDDED_DEFAULTS, type ResolvedAgent } from '../agent/resolve.js';
import type { AgentRequest, EngineParts } from './options.js';
import type { AgentConfig } from '../agent/agent.js';
import { modelRemedy, noModelReason, SCRIPTED_MODEL, successorOf } from '../settings/models.js';
import { hasModel } from './plugin.js';
import { webhookAddress } from '../agent/webhook.js';

/** A part of an agent that will not work as its author may expect, but does not prevent sessions. */
export interface AgentWarning {
  /** The field, within the configuration. */
  readonly loc: Location;
  /** A sentence for people: the problem, and what to do. */
  readonly msg: string;
}

/** The result of checking an agent. */
export interface AgentReview {
  /** Why it cannot have sessions, in the order of discovery. */
  readonly faults: readonly ParleyError[];
  /** Empty if there are faults. */
  readonly warnings: readonly AgentWarning[];
}

/** The input of a check. */
interface WarningContext {
  request: AgentRequest;
  agent: ResolvedAgent;
  options: EngineParts;
}

/** Each checks one thing. Add a function here for a new warning. */
const CHECKS: readonly ((checked: WarningContext) => readonly AgentWarning[])[] = [
  ({ request: { agent: config, script, llm }, options }) =>
    llm === undefined ? modelWarnings({ config, script }, options) : [],
  ({ request: { agent: config } }) => oldPlaceWarnings(config),
];

/** The warnings about an agent that can have sessions. */
export function agentWarnings(checked: WarningContext): AgentWarning[] {
  return CHECKS.flatMap((check) => check(checked));
}

/** Warns if an agent has neither a language model nor a script nor a custom LLM socket. */
export function modelWarnings(
  { config, script }: { config: AgentConfig; script?: unknown },
  { models = new Map(), defaults = {}, plugins = [] }: Partial<Pick<EngineParts, 'models' | 'defaults' | 'plugins'>>,
): AgentWarning[] {
  if (webhookAddress(config.custom_llm_websocket, new Map()) !== null) return [];
  const byDefault = script == null ? (defaults.llmModel ?? EMBEDDED_DEFAULTS.llmModel) : SCRIPTED_MODEL;
  const model = config.llm?.model ?? byDefault;
  const loc = ['llm', 'model'];
  if (model === SCRIPTED_MODEL) return script == null ? [{ loc, msg: noModelReason(models) }] : [];
  const msg = `The language model "${model}" cannot be used here: ${modelRemedy(model)}.`;
  if (
    models.has(model) ||
    hasModel(
      plugins.flatMap(({ llm }) => Object.keys(llm ?? {})),
      model,
    )
  )
    return [];
  const successor = successorOf(model, models);
  if (successor === undefined) return [{ loc, msg }];
  return [
    { loc, msg: `The language model "${model}" has been renamed or retired: "${successor}" answers in its place.` },
  ];
}
