import { InvalidConfigError, type Location } from '../config/issues.js';
import type { Engine } from '../engine/engine.js';
import type { AgentRequest } from '../engine/options.js';
import { ParleyError, type ErrorCode, type ErrorDetails } from '../errors.js';

/** What would help, where the message alone does not say. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  PROVIDER_UNKNOWN:
    ". Others need a key or an address in the operator's settings, or an adapter that this version lacks",
};

/** Where the parts of an agent stand in a request. */
export interface AgentPlaces {
  /** Such as `['body', 'config']`. */
  config: Location;
  /** Default: of no place of its own. */
  script?: Location;
}

/** Which field of the configuration an error of the engine is about. */
const FIELDS: Partial<Record<ErrorCode, (details: ErrorDetails) => Location>> = {
  PROVIDER_UNKNOWN: ({ kind }) => PROVIDER_FIELDS[String(kind)] ?? [],
  PROVIDER_CLOSED: () => ['voice', 'provider'],
  PROVIDER_NOT_CONFIGURED: ({ kind }) => PROVIDER_FIELDS[String(kind)] ?? [],
  STT_LANGUAGE_UNSUPPORTED: () => ['language'],
  TTS_LANGUAGE_UNSUPPORTED: () => ['language'],
  TTS_VOICE_UNKNOWN: () => ['voice', 'voice_id'],
  TTS_SETTING_INVALID: ({ setting }) => ['voice', 'settings', String(setting)],
  TTS_ENGINE_MISSING: () => ['voice', 'provider'],
  NOT_FOUND: ({ what }) => (what === 'knowledge file' ? ['knowledge_base', 'files'] : []),
};

const PROVIDER_FIELDS: Readonly<Record<string, Location>> = {
  'language model': ['llm', 'model'],
  'speech-to-text': ['speech_to_text', 'provider'],
  'text-to-speech': ['voice', 'provider'],
};

/**
 * Whether an agent that came with a request could have sessions here.
 * @throws InvalidConfigError for anything that it could not, with the places that the request has
 */
export async function checkAgent(engine: Engine, agent: AgentRequest, places: AgentPlaces): Promise<void> {
  try {
    await engine.checkAgent(agent);
  } catch (error) {
    throw error instanceof ParleyError && error.code !== 'SESSION_CLOSED' ? agentFault(error, places) : error;
  }
}

/** An error of the engine about an agent that came with a request, with the places that the request has. */
export function agentFault(error: ParleyError, places: AgentPlaces): InvalidConfigError {
  if (error instanceof InvalidConfigError) {
    return new InvalidConfigError(error.issues.map((issue) => ({ ...issue, loc: [...places.config, ...issue.loc] })));
  }
  const { code, details, message } = error;
  const ofScript = details['part'] === 'script' && places.script !== undefined;
  const loc = ofScript ? (places.script ?? []) : [...places.config, ...(FIELDS[code]?.(details) ?? [])];
  const msg = code === 'CONFIG_INVALID' ? String(details['reason']) : message + (HINTS[code] ?? '');
  return new InvalidConfigError([{ loc, msg, type: 'value_error' }]);
}
