import { type AgentConfig, agentConfigSchema } from '../agent/agent.js';
import { type AgentConfigRules, parseAgentConfig } from '../agent/parse.js';
import { type ErrorCode, type ErrorDetails, ParleyError } from '../base/errors.js';
import { InvalidConfigError, type Location, type ValidationIssue, valueAt } from '../schema/issues.js';

/** Schema faults hide those of the rules, which hide nothing. */
const PARSE_ROUNDS = 3;

/**
 * Runs the steps of an agent's setup. A step that throws is noted, and the setup goes on without it, so that all faults
 * of the agent are found in one pass.
 */
export class FaultCollector {
  /** In the order in which they were found. */
  readonly #faults: ParleyError[] = [];

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  /**
   * @returns null for a step that threw
   * @throws what says nothing about the agent
   */
  attempt<T>(step: () => T): T | null {
    try {
      return step();
    } catch (error) {
      this.#note(error);
      return null;
    }
  }

  /**
   * @returns the fault of a check; null = it passed
   * @throws what says nothing about the agent
   */
  faultOf(check: () => unknown): ParleyError | null {
    const passed = this.attempt(() => {
      check();
      return true;
    });
    return passed === null ? (this.#faults.at(-1) ?? null) : null;
  }

  /**
   * @returns null for a step that rejected
   * @throws what says nothing about the agent
   */
  async attemptAsync<T>(step: () => Promise<T>): Promise<T | null> {
    try {
      return await step();
    } catch (error) {
      this.#note(error);
      return null;
    }
  }

  add(faults: readonly ParleyError[]): void {
    this.#faults.push(...faults);
  }

  /**
   * The configuration as its schema takes it, without the members that have faults.
   * @returns null where nothing is left that could be checked further
   */
  parse(config: unknown, rules: AgentConfigRules): AgentConfig | null {
    let rest = config;
    for (let round = 0; round < PARSE_ROUNDS; round++) {
      try {
        return parseAgentConfig(rest, rules);
      } catch (error) {
        this.#note(error);
        if (!(error instanceof InvalidConfigError)) return null;
        rest = withoutFaults(rest, error.issues);
        if (rest === null) return null;
      }
    }
    return null;
  }

  /**
   * The faults: one for each place, and none that only concerns a default, unless it is the first.
   * @param whole the configuration
   * @param checked what `parse` has left of it
   */
  list(whole: AgentConfig, checked: AgentConfig | null): readonly ParleyError[] {
    const known = new Set<string>();
    return this.#faults.filter((fault, at) => {
      const places = placesOf(fault).map((place) => JSON.stringify(place));
      const isNew = places.some((place) => place === NOWHERE || !known.has(place));
      for (const place of places) known.add(place);
      return isNew && (at === 0 || isOwn(fault, whole, checked));
    });
  }

  #note(error: unknown): void {
    if (!(error instanceof ParleyError) || error.code === 'SESSION_CLOSED') throw error;
    this.#faults.push(error);
  }
}

const NOWHERE = '[]';

/** The member that an error is about, by the error's code. */
const FIELDS: Partial<Record<ErrorCode, (details: ErrorDetails) => Location>> = {
  PROVIDER_UNKNOWN: ({ kind }) => PROVIDER_FIELDS[String(kind)] ?? [],
  PROVIDER_CLOSED: () => ['voice', 'provider'],
  PROVIDER_NOT_CONFIGURED: ({ kind }) => PROVIDER_FIELDS[String(kind)] ?? [],
  STT_LANGUAGE_UNSUPPORTED: () => ['language'],
  TTS_LANGUAGE_UNSUPPORTED: () => ['language'],
  TTS_VOICE_UNKNOWN: () => ['voice', 'voice_id'],
  TTS_SETTING_INVALID: ({ setting }) => ['voice', 'settings', String(setting)],
  TTS_ENGINE_MISSING: () => ['voice', 'provider'],
  NET_ADDRESS_REFUSED: () => ['custom_llm_websocket'],
  MODEL_UNKNOWN: ({ kind }) => MODEL_FIELDS[String(kind)] ?? [],
  NOT_FOUND: ({ what }) => (what === 'knowledge file' ? ['knowledge_base', 'files'] : []),
};

/** By the kind of provider in the error. */
const PROVIDER_FIELDS: Readonly<Record<string, Location>> = {
  'language model': ['llm', 'model'],
  'speech-to-text': ['speech_to_text', 'provider'],
  'text-to-speech': ['voice', 'provider'],
};

/** By the kind of local model that is missing. */
const MODEL_FIELDS: Readonly<Record<string, Location>> = {
  'speech recognition': ['speech_to_text', 'model'],
  voice: ['voice', 'voice_id'],
  denoising: ['speech_to_text', 'denoiser'],
};

/** Where in an agent's configuration a fault is; empty = the fault names no place. */
export function faultPlace({ code, details }: ParleyError): Location {
  return details['part'] === 'script' ? [] : (FIELDS[code]?.(details) ?? []);
}

function placesOf(fault: ParleyError): readonly Location[] {
  return fault instanceof InvalidConfigError ? fault.issues.map(({ loc }) => loc) : [faultPlace(fault)];
}

/** The member that chooses the provider which such a fault is about. */
const CHOSEN_BY: Partial<Record<ErrorCode, keyof AgentConfig>> = {
  TTS_LANGUAGE_UNSUPPORTED: 'voice',
  STT_LANGUAGE_UNSUPPORTED: 'speech_to_text',
};

/** Whether a fault concerns what the agent names itself, and not a default that the operator chose. */
function isOwn(fault: ParleyError, whole: AgentConfig, checked: AgentConfig | null): boolean {
  if (fault instanceof InvalidConfigError) return true;
  const chosen = CHOSEN_BY[fault.code];
  if (chosen !== undefined && valueAt(whole, [chosen]) != null && checked?.[chosen] == null) return false;
  return valueAt(checked, faultPlace(fault)) != null;
}

/** The value without its faulty members, or without the members around them that need those; null = none of it is valid. */
function withoutFaults(value: unknown, issues: readonly ValidationIssue[]): unknown {
  const paths = issues.map(({ loc }) => {
    // Voices and models are a vendor's own: they go with its name. Items of lists keep their numbers.
    const end = loc.findIndex((part) => part === 'provider' || typeof part === 'number');
    return end === -1 ? loc : loc.slice(0, end);
  });
  for (let depth = Math.max(0, ...paths.map(({ length }) => length)); depth > 0; depth--) {
    const less = paths.reduce((left, path) => without(left, path.slice(0, depth)), value);
    if (agentConfigSchema.safeParse(less).success) return less;
  }
  return null;
}

function without(value: unknown, [step, ...rest]: Location): unknown {
  if (step === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return value;
  const { [step]: member, ...others } = value as Readonly<Record<string | number, unknown>>;
  return rest.length === 0 ? others : { ...others, [step]: without(member, rest) };
}
