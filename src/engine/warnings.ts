import { type ParleyError, reasonOf } from '../base/errors.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';
import { oldPlaceWarnings } from '../agent/extensions/old-place.js';
import { type Location, placeOf } from '../schema/issues.js';
import { EMBEDDED_DEFAULTS, type ResolvedAgent } from '../agent/resolve.js';
import type { AgentRequest, EngineParts } from './options.js';
import type { AgentConfig } from '../agent/agent.js';
import { modelRemedy, noModelReason, SCRIPTED_MODEL, successorOf } from '../settings/models.js';
import { hasModel } from './plugin.js';
import { webhookAddress } from '../agent/webhook.js';
import { AddressGuard } from '../net/address-guard.js';
import { type ScriptToolUse, scriptToolUses } from '../providers/llm/scripted/index.js';

/** A part of an agent that will not work as its author may expect, but does not prevent sessions. */
export interface AgentWarning {
  /** The field, within the configuration or within `part`. */
  readonly loc: Location;
  /** Default: the configuration. */
  readonly part?: 'script';
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
  ({ request: { agent: config }, options }) => addressWarnings(config, new AddressGuard(options)),
  ({ request: { agent: config, script, extensions } }) =>
    scriptWarnings(config, scriptToolUses(script), extensions ?? null),
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

/** The setting that offers each action to the model, and whether an agent has it. */
const ACTION_SETTINGS: Readonly<
  Record<string, { name: string; isSet: (config: AgentConfig, extensions: AgentExtensions) => boolean }>
> = {
  end_call: {
    name: 'flow.agent_terminate_call.enabled',
    isSet: ({ flow }) => flow?.agent_terminate_call?.enabled === true,
  },
  transfer_call: {
    name: 'flow.call_transfer.phone',
    isSet: ({ flow }) => (flow?.call_transfer?.phone ?? '') !== '' || (flow?.call_transfer?.phones ?? []).length > 0,
  },
  press_digits: { name: 'flow.dtmf_dial.enabled', isSet: ({ flow }) => flow?.dtmf_dial?.enabled === true },
  switch_language: {
    name: 'switch_language.languages',
    isSet: ({ switch_language }) => (switch_language?.languages ?? []).length > 0,
  },
  hand_over: { name: 'extensions.handover', isSet: (_config, { handover }) => handover != null },
  do_not_call: {
    name: 'privacy_settings.do_not_call_detection',
    isSet: ({ privacy_settings }) => privacy_settings?.do_not_call_detection === true,
  },
};

/** Warns of the places of a script that need an action which the agent's configuration does not switch on. */
export function scriptWarnings(
  config: AgentConfig,
  uses: readonly ScriptToolUse[],
  extensions: AgentExtensions | null = null,
): AgentWarning[] {
  return uses.flatMap(({ place, tool }) => {
    const setting = Object.hasOwn(ACTION_SETTINGS, tool) ? ACTION_SETTINGS[tool] : undefined;
    if (setting === undefined || setting.isSet(config, extensions ?? {})) return [];
    const effect = place.at(-1) === 'end' ? 'the agent does not hang up' : 'the call of the tool fails';
    return [{ part: 'script', loc: place, msg: `needs ${setting.name}: without it ${effect}.` }];
  });
}

/** A warning with its place: `script.rules[1].end needs …`. */
export function warningText({ part, loc, msg }: AgentWarning): string {
  return part === 'script' ? `${placeOf([part, ...loc])} ${msg}` : msg;
}

/** Warns of addresses that the agent's requests cannot reach, whatever they resolve to. */
function addressWarnings(config: AgentConfig, guard: AddressGuard): AgentWarning[] {
  const { tools, session_data_webhook: data, extra_prompt_webhook: extra } = config;
  const places: [loc: Location, url: string | null | undefined][] = [
    ...(tools ?? []).map(({ webhook }, at): [Location, typeof webhook] => [['tools', at, 'webhook'], webhook]),
    [['session_data_webhook'], typeof data === 'string' ? data : data?.url],
    [['extra_prompt_webhook'], typeof extra === 'string' ? extra : extra?.url],
    [['call_settings', 'background', 'url'], config.call_settings?.background?.url],
  ];
  return places.flatMap(([loc, url]) => {
    try {
      if (url != null && url !== '') guard.check(url);
      return [];
    } catch (error) {
      return [{ loc, msg: `${reasonOf(error)}.` }];
    }
  });
}
