import type { AgentConfig } from '../config/agent.js';
import { modelRemedy, noModelReason, SCRIPTED_MODEL, successorOf } from '../config/models.js';
import { EMBEDDED_DEFAULTS } from '../config/resolve.js';
import { webhookAddress } from '../config/webhook.js';
import type { EngineParts } from './options.js';
import type { AgentWarning } from './warnings.js';

/** Whether an agent has a language model, a script or a socket of its own to answer with. */
export function modelWarnings(
  { config, script }: { config: AgentConfig; script?: unknown },
  { models = new Map(), defaults = {} }: Pick<EngineParts, 'models' | 'defaults'>,
): AgentWarning[] {
  if (webhookAddress(config.custom_llm_websocket, new Map()) !== null) return [];
  const byDefault = script == null ? (defaults.llmModel ?? EMBEDDED_DEFAULTS.llmModel) : SCRIPTED_MODEL;
  const model = config.llm?.model ?? byDefault;
  const loc = ['llm', 'model'];
  if (model === SCRIPTED_MODEL) return script == null ? [{ loc, msg: noModelReason(models) }] : [];
  const msg = `The language model "${model}" cannot be used here: ${modelRemedy(model)}.`;
  if (models.has(model)) return [];
  const successor = successorOf(model, models);
  if (successor === undefined) return [{ loc, msg }];
  return [
    { loc, msg: `The language model "${model}" has been renamed or retired: "${successor}" answers in its place.` },
  ];
}
