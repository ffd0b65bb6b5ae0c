/** What a model takes: newer models refuse parameters that older ones accept. */
export interface ModelSupport {
  temperature: boolean;
  /**
   * The least thinking the model allows, to keep latency low: none, none before the first words, little, or the model's
   * default.
   */
  thinking: 'disabled' | 'between_tools' | 'low' | 'default';
  /** Whether a tool can be required. If not, the prompt asks for it. */
  requiredTool: boolean;
}

const EVERYTHING: ModelSupport = { temperature: true, thinking: 'disabled', requiredTool: true };

/**
 * By prefix of the model name, which saves a refused request on the first call. Source:
 * platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5, …/opus-5-5/overview, …/haiku-5-5/migration-guide
 * (November 2026).
 */
const KNOWN: readonly (readonly [RegExp, ModelSupport])[] = [
  [/^claude-(3|haiku-4|sonnet-4|opus-4)/, EVERYTHING],
  [/^claude-sonnet-5-5/, { temperature: false, thinking: 'between_tools', requiredTool: false }],
  [/^claude-(opus-5-5|fable|mythos)/, { temperature: false, thinking: 'low', requiredTool: false }],
  [/^claude-(haiku|sonnet|opus)-5/, { temperature: false, thinking: 'disabled', requiredTool: true }],
];

/** What a model of this name takes, as far as is known. */
export function supportOf(model: string): ModelSupport {
  return KNOWN.find(([name]) => name.test(model))?.[1] ?? EVERYTHING;
}

/** What to retry with after this refusal; null = the refusal has another reason. */
export function withoutRefused(support: ModelSupport, refusal: string): ModelSupport | null {
  const { temperature, thinking, requiredTool } = support;
  if (temperature && /temperature|sampling/i.test(refusal)) return { ...support, temperature: false };
  // Checked before thinking, which such a refusal may name as its reason.
  if (requiredTool && /tool_choice|forced tool/i.test(refusal)) return { ...support, requiredTool: false };
  if (thinking === 'disabled' && /between_tools/.test(refusal)) return { ...support, thinking: 'between_tools' };
  if ((thinking === 'disabled' || thinking === 'between_tools') && /thinking/i.test(refusal)) {
    return { ...support, thinking: 'low' };
  }
  return thinking === 'low' && /output_config|effort/i.test(refusal) ? { ...support, thinking: 'default' } : null;
}
