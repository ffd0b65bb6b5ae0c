import { type ConversationConfig, DEFAULT_CONVERSATION } from '../agent/conversation-config.js';

/** Settings that differ from others, section by section. */
export type ConfigChanges = {
  [Key in keyof ConversationConfig]?: ConversationConfig[Key] extends string | readonly unknown[] | null
    ? ConversationConfig[Key]
    : ConversationConfig[Key] extends object
      ? Partial<ConversationConfig[Key]>
      : ConversationConfig[Key];
};

/** Sections whose members are names that somebody chose: a change replaces the whole. */
const WHOLE = new Set(['toolSpeech']);

/** The settings with the changes made: members of a section that are not named stay as they are. */
export function mergeConfig(
  changes: ConfigChanges,
  usual: ConversationConfig = DEFAULT_CONVERSATION,
): ConversationConfig {
  const merged: Record<string, unknown> = { ...usual };
  for (const [section, change] of Object.entries(changes)) {
    const before = usual[section as keyof ConversationConfig];
    const isSection = typeof change === 'object' && change !== null && !Array.isArray(change) && !WHOLE.has(section);
    merged[section] = isSection && typeof before === 'object' ? { ...before, ...change } : change;
  }
  return merged as unknown as ConversationConfig;
}
