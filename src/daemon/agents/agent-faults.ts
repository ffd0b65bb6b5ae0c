import { type AgentConfig, agentConfigSchema } from '../../agent/agent.js';
import { InvalidConfigError, type Location } from '../../schema/issues.js';
import type { AgentRequest } from '../../engine/options.js';
import { type ErrorCode, ParleyError } from '../../base/errors.js';

/** So many faults are looked for: each takes another look at the agent. */
const MOST_FAULTS = 20;

/** A member of whose choice these faults speak: without it, they are about a default that nobody has chosen. */
const CHOSEN_BY: Partial<Record<ErrorCode, keyof AgentConfig>> = {
  TTS_LANGUAGE_UNSUPPORTED: 'voice',
  STT_LANGUAGE_UNSUPPORTED: 'speech_to_text',
};

/**
 * What else is wrong with an agent, where a check stops at the first fault: the member that is wrong is taken out, and
 * the rest is checked again. What only follows from its absence is left aside.
 * @param first what the check has thrown for the whole agent
 * @param check throws the first fault of an agent
 * @param placeOf where in the configuration a fault is; empty = that is not known, and nothing behind it is found
 */
export async function everyFault(
  agent: AgentRequest,
  first: ParleyError,
  check: (agent: AgentRequest) => Promise<unknown>,
  placeOf: (error: ParleyError) => Location,
): Promise<ParleyError[]> {
  const faults = [first];
  let rest = agent.agent;
  let error: ParleyError | null = first;
  while (error !== null && faults.length < MOST_FAULTS) {
    const less = placesIn(error, placeOf).reduce<AgentConfig | null>(
      (left, place) => left && without(left, place),
      rest,
    );
    if (less === null || less === rest) break;
    rest = less;
    error = await check({ ...agent, agent: rest }).then(
      () => null,
      (thrown: unknown) => {
        if (thrown instanceof ParleyError && thrown.code !== 'SESSION_CLOSED') return thrown;
        throw thrown;
      },
    );
    if (error !== null && isOwn(error, placesIn(error, placeOf), agent.agent, rest)) faults.push(error);
  }
  return faults;
}

function placesIn(error: ParleyError, placeOf: (error: ParleyError) => Location): readonly Location[] {
  return error instanceof InvalidConfigError ? error.issues.map(({ loc }) => loc) : [placeOf(error)];
}

function isOwn({ code }: ParleyError, places: readonly Location[], whole: AgentConfig, rest: AgentConfig): boolean {
  const chosen = CHOSEN_BY[code];
  if (chosen !== undefined && whole[chosen] != null && rest[chosen] == null) return false;
  return places.every((place) => valueAt(rest, place) != null);
}

/** The configuration without a member, or without what cannot be without it; null where it has none there. */
function without(config: AgentConfig, place: Location): AgentConfig | null {
  // What is said of a vendor's voice or recogniser means nothing to another one's, and items keep their numbers.
  const end = place.findIndex((part) => part === 'provider' || typeof part === 'number');
  const path = end === -1 ? place : place.slice(0, end);
  for (let depth = path.length; depth > 0; depth--) {
    const less = removed(config, path.slice(0, depth));
    const { success, data } = agentConfigSchema.safeParse(less);
    if (less !== config && success) return data;
  }
  return valueAt(config, path) == null && path.length > 0 ? config : null;
}

function removed(value: unknown, [step, ...rest]: Location): unknown {
  if (step === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return value;
  const { [step]: member, ...others } = value as Readonly<Record<string | number, unknown>>;
  return rest.length === 0 ? others : { ...others, [step]: removed(member, rest) };
}

function valueAt(value: unknown, place: Location): unknown {
  return place.reduce<unknown>(
    (at, step) => (typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[step] : undefined),
    value,
  );
}
