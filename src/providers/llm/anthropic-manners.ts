/** What a model takes: newer ones refuse what older ones were asked for. */
export interface Manners {
  temperature: boolean;
  /**
   * The least thinking that can be asked for, because the user waits: none at all, none before the first words, little, or
   * whatever the model's default is.
   */
  thinking: 'disabled' | 'between_tools' | 'low' | 'default';
  /** Whether a tool can be required. Else the model is only told to call it. */
  requiredTool: boolean;
}

const EVERYTHING: Manners = { temperature: true, thinking: 'disabled', requiredTool: true };

/**
 * By the beginning of the model's name, so that no call begins with a refusal.
 * Source: platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5, …/opus-5-5/overview,
 * …/haiku-5-5/migration-guide (November 2026).
 */
const KNOWN: readonly (readonly [RegExp, Manners])[] = [
  [/^claude-(3|haiku-4|sonnet-4|opus-4)/, EVERYTHING],
  [/^claude-sonnet-5-5/, { temperature: false, thinking: 'between_tools', requiredTool: false }],
  [/^claude-(opus-5-5|fable|mythos)/, { temperature: false, thinking: 'low', requiredTool: false }],
  [/^claude-(haiku|sonnet|opus)-5/, { temperature: false, thinking: 'disabled', requiredTool: true }],
];

export function mannersOf(model: string): Manners {
  return KNOWN.find(([name]) => name.test(model))?.[1] ?? EVERYTHING;
}

/** What to ask instead of what was refused with these words; null = it was something else. */
export function humbler(manners: Manners, refusal: string): Manners | null {
  const { temperature, thinking, requiredTool } = manners;
  if (temperature && /temperature|sampling/i.test(refusal)) return { ...manners, temperature: false };
  // Before thinking, which such a refusal may name as its reason.
  if (requiredTool && /tool_choice|forced tool/i.test(refusal)) return { ...manners, requiredTool: false };
  if (thinking === 'disabled' && /between_tools/.test(refusal)) return { ...manners, thinking: 'between_tools' };
  if ((thinking === 'disabled' || thinking === 'between_tools') && /thinking/i.test(refusal)) {
    return { ...manners, thinking: 'low' };
  }
  return thinking === 'low' && /output_config|effort/i.test(refusal) ? { ...manners, thinking: 'default' } : null;
}
