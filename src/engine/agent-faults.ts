import { type AgentConfig, agentConfigSchema } from '../agent/agent.js';
import { type AgentConfigRules, parseAgentConfig } from '../agent/parse.js';
import { type ErrorCode, type ErrorDetails, ParleyError } from '../base/errors.js';
import { InvalidConfigError, type Location, type ValidationIssue, valueAt } from '../schema/issues.js';

/** Schema faults hide rule faults, which hide nothing else. */
const PARSE_ROUNDS = 3;

/**
 * Runs the steps of an agent's setup. A failed step is recorded and the setup continues without it, so that one pass
 * finds all faults of the agent.
 */
export class FaultCollector {
  /** In the order of their discovery. */
  readonly #faults: ParleyError[] = [];

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  /**
   * @returns null for a step that threw
   * @throws errors that are not about the agent
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
   * @throws errors that are not about the agent
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
   * @throws errors that are not about the agent
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
   * The parsed configuration without its faulty members.
   * @returns null if nothing is left to check
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
   * The faults: one per place, and none that concerns only a default, unless it is the first.
   * @param whole the configuration
   * @param checked the result of `parse`
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

/** The member that an error is about, by its code. */
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

/** The place of a fault in an agent's configuration; empty = the fault names none. */
export function faultPlace({ code, details }: ParleyError): Location {
  return details['part'] === 'script' ? [] : (FIELDS[code]?.(details) ?? []);
}

function placesOf(fault: ParleyError): readonly Location[] {
  return fault instanceof InvalidConfigError ? fault.issues.map(({ loc }) => loc) : [faultPlace(fault)];
}

/** The member that selects the provider of such a fault. */
const CHOSEN_BY: Partial<Record<ErrorCode, keyof AgentConfig>> = {
  TTS_LANGUAGE_UNSUPPORTED: 'voice',
  STT_LANGUAGE_UNSUPPORTED: 'speech_to_text',
};

/** Whether a fault concerns a value of the agent, not a default of the operator. */
function isOwn(fault: ParleyError, whole: AgentConfig, checked: AgentConfig | null): boolean {
  if (fault instanceof InvalidConfigError) return true;
  const chosen = CHOSEN_BY[fault.code];
  if (chosen !== undefined && valueAt(whole, [chosen]) != null && checked?.[chosen] == null) return false;
  return valueAt(checked, faultPlace(fault)) != null;
}

/**
 * The value without its faulty members, or without the surrounding members that require those; null = nothing valid is
 * left.
 */
function withoutFaults(value: unknown, issues: readonly ValidationIssue[]): unknown {
  const paths = issues.map(({ loc }) => {
    // Voices and models depend on their vendor: they are removed with it. Items of lists keep their index.
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
