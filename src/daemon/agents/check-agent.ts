import { InvalidConfigError, type Location } from '../../schema/issues.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest, Medium } from '../../engine/options.js';
import type { AgentWarning } from '../../engine/warnings.js';
import { faultPlace } from '../../engine/agent-faults.js';
import { ParleyError, type ErrorCode } from '../../base/errors.js';

/** Remedies for errors whose message has none. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  PROVIDER_UNKNOWN:
    ". Others need a key or an address in the operator's settings, or an adapter that this version lacks",
};

/** The places of an agent's parts in a request. */
export interface AgentPlaces {
  /** Such as `['body', 'config']`. */
  config: Location;
  /** Default: the script has no place of its own. */
  script?: Location;
}

/**
 * Checks that the agent of a request could have sessions here.
 * @returns warnings, with places in the request
 * @throws InvalidConfigError for everything that prevents sessions, with places in the request
 */
export async function checkAgent(
  engine: Engine,
  agent: AgentRequest,
  places: AgentPlaces,
  medium: Medium = 'line',
): Promise<readonly AgentWarning[]> {
  const { faults, warnings } = await engine.reviewAgent(agent, medium);
  if (faults.length > 0) throw agentFaults(faults, places);
  return warnings.map(({ part, loc, msg }) => {
    const place = part === 'script' ? (places.script ?? []) : places.config;
    return { loc: [...place, ...loc], msg };
  });
}

/** All faults of an agent as one error, with places in the request. */
function agentFaults(faults: readonly ParleyError[], places: AgentPlaces): ParleyError {
  const all = faults.map((fault) => agentFault(fault, places));
  const [first, ...others] = all;
  const tooLong = all.find(({ code }) => code === 'PROMPT_TOO_LONG');
  if (tooLong !== undefined) return tooLong;
  if (first !== undefined && others.length === 0) return first;
  const issues = all.flatMap((fault) => (fault instanceof InvalidConfigError ? fault.issues : []));
  // What this daemon cannot serve matters only if there is no other fault.
  const cause = faults.every(isUnserved) ? faults[0] : undefined;
  return new InvalidConfigError(issues, cause);
}

/** Errors of valid agents that this daemon cannot serve. */
const UNSERVED: ReadonlySet<ErrorCode> = new Set([
  'STT_LANGUAGE_UNSUPPORTED',
  'TTS_LANGUAGE_UNSUPPORTED',
  'TTS_ENGINE_MISSING',
  'PROVIDER_CLOSED',
  'PROVIDER_NOT_CONFIGURED',
]);

/** Whether an error says that this daemon cannot serve an agent's language or vendor, which another one could. */
export function isUnserved(error: unknown): error is ParleyError {
  return error instanceof ParleyError && UNSERVED.has(error.code);
}

/**
 * Checks that an agent may be stored. If this daemon cannot serve its language or vendor, the agent may be stored with a
 * warning, and its calls are refused.
 * @throws InvalidConfigError for any other fault, with places in the request
 */
export async function checkStoredAgent(
  engine: Engine,
  agent: AgentRequest,
  places: AgentPlaces,
): Promise<readonly AgentWarning[]> {
  try {
    return await checkAgent(engine, agent, places);
  } catch (error) {
    if (!(error instanceof InvalidConfigError) || !isUnserved(error.cause)) throw error;
    const unserved = error.issues.map(({ loc, msg }) => ({ loc, msg: `${msg}. Until then its calls are refused.` }));
    return [...unserved, ...(await checkAgent(engine, agent, places, 'writing'))];
  }
}

/** An error of the engine with its place in the request: of status 422, or PROMPT_TOO_LONG. */
export function agentFault(error: ParleyError, places: AgentPlaces): ParleyError {
  return promptFault(error) ?? placedFault(error, places);
}

/** PROMPT_TOO_LONG if the engine reports a prompt that is too long, else null. */
export function promptFault(error: unknown): ParleyError | null {
  const issues = error instanceof InvalidConfigError ? error.issues : [];
  const tooLong = issues.find(({ loc, type }) => loc[0] === 'prompt' && type === 'string_too_long');
  return tooLong === undefined ? null : new ParleyError('PROMPT_TOO_LONG', { reason: tooLong.msg }, { cause: error });
}

/** An error of the engine about a part of an agent, with its place in the request. */
export function placedFault(error: ParleyError, places: AgentPlaces): InvalidConfigError {
  if (error instanceof InvalidConfigError) {
    return new InvalidConfigError(error.issues.map((issue) => ({ ...issue, loc: [...places.config, ...issue.loc] })));
  }
  const { code, details, message } = error;
  const ofScript = details['part'] === 'script' && places.script !== undefined;
  const loc = ofScript ? (places.script ?? []) : [...places.config, ...faultPlace(error)];
  const msg = code === 'CONFIG_INVALID' ? String(details['reason']) : message + (HINTS[code] ?? '');
  return new InvalidConfigError([{ loc, msg, type: 'value_error' }], error);
}
