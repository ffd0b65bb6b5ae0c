import type { AgentConfig } from './agent.js';
import { ParleyError } from '../errors.js';

/**
 * Fields of AgentConfig that this version does not act on yet, each with everything below it. A session refuses a
 * configuration that asks one of them for something, in place of quietly doing without.
 */
export const UNSUPPORTED_FIELDS = [
  'service_functions',
  'app_functions',
  'custom_llm_websocket',
  'session_data_webhook',
  'extra_prompt_webhook',
  'privacy_settings',
  'switch_language',
  'knowledge_base.files',
  'speech_to_text.multilingual',
  'speech_to_text.denoise',
  'speech_to_text.denoiser',
  'call_settings.enable_recording',
  'call_settings.background',
  'memory.user_identifier_key',
  'flow.voicemail',
  'flow.call_transfer',
  'flow.dtmf_dial.enabled',
] as const;

/** The dotted paths among `UNSUPPORTED_FIELDS` that `config` gives a value with an effect. */
export function unsupportedFields(config: AgentConfig): string[] {
  return UNSUPPORTED_FIELDS.filter((path) => asksForSomething(valueAt(config, path)));
}

/** @throws ParleyError CONFIG_FIELD_UNSUPPORTED naming the fields. */
export function refuseUnsupported(config: AgentConfig): void {
  const fields = unsupportedFields(config);
  if (fields.length > 0) throw new ParleyError('CONFIG_FIELD_UNSUPPORTED', { fields: fields.join(', ') });
}

/** Null, false, empty texts and lists, and objects of nothing else ask for nothing. */
function asksForSomething(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.values(value).some(asksForSomething);
}

function valueAt(config: AgentConfig, path: string): unknown {
  let at: unknown = config;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}
