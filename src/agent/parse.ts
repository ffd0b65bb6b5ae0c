import { agentConfigSchema, type AgentConfig, VOICE_PROVIDERS } from './agent.js';
import { similar } from '../base/similar.js';
import { InvalidConfigError, type Location, type ValidationIssue, parseWith } from '../schema/issues.js';

/** Speech recognition vendors that the interface names. */
export const STT_PROVIDERS = ['deepgram', 'gladia', 'talkscriber'] as const;

const DEFAULT_MAX_PROMPT_CHARS = 100_000;

export interface AgentConfigRules {
  /** Registered voice providers, beside the interface's own. Null = any name passes. */
  voiceProviders?: readonly string[] | null | undefined;
  /** Registered speech recognition providers, beside the interface's own. Null = any name passes. */
  sttProviders?: readonly string[] | null | undefined;
  /** Language models that can be named. Null = any name passes. */
  llmModels?: readonly string[] | null | undefined;
  /** Longest prompt in characters. Default 100,000. */
  maxPromptChars?: number | null | undefined;
  /** Goes before each fault's location, such as `['body', 'agent_config']`. Default none. */
  location?: Location;
}

/**
 * A checked AgentConfig: unknown members are refused, nothing is coerced.
 * @throws InvalidConfigError naming every fault.
 */
export function parseAgentConfig(value: unknown, rules: AgentConfigRules = {}): AgentConfig {
  const prefix = rules.location ?? [];
  const config = parseWith(agentConfigSchema, value, prefix);
  const issues = ruleIssues(config, rules, prefix);
  if (issues.length > 0) throw new InvalidConfigError(issues);
  return config;
}

/** What depends on this installation and therefore is not in the schema. */
function ruleIssues(config: AgentConfig, rules: AgentConfigRules, prefix: Location): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const checkName = (
    path: Location,
    name: string | null | undefined,
    known: readonly string[] | null | undefined,
  ): void => {
    if (name == null || name === '' || known == null || known.includes(name)) return;
    const meant = similar(name, known);
    const hint = meant === null ? '' : `. Did you mean ${meant}?`;
    issues.push({ loc: [...prefix, ...path], msg: `Input should be one of: ${known.join(', ')}${hint}`, type: 'enum' });
  };
  const { voiceProviders, sttProviders, llmModels } = rules;
  const maxPromptChars = rules.maxPromptChars ?? DEFAULT_MAX_PROMPT_CHARS;
  checkName(['voice', 'provider'], config.voice?.provider, voiceProviders && union(VOICE_PROVIDERS, voiceProviders));
  checkName(
    ['speech_to_text', 'provider'],
    config.speech_to_text?.provider,
    sttProviders && union(STT_PROVIDERS, sttProviders),
  );
  checkName(['llm', 'model'], config.llm?.model, llmModels);
  if ((config.prompt?.length ?? 0) > maxPromptChars) {
    const msg = `String should have at most ${String(maxPromptChars)} characters`;
    issues.push({ loc: [...prefix, 'prompt'], msg, type: 'string_too_long' });
  }
  return issues;
}

function union(some: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...more, ...some])];
}
