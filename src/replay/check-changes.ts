import { type ConversationConfig, DEFAULT_CONVERSATION } from '../agent/conversation-config.js';
import { ParleyError } from '../base/errors.js';
import { type ConfigChanges, mergeConfig } from '../conversation/merge-config.js';

/** Sections that may be null, with all their members. */
const OPTIONAL = {
  inactivity: { idleMs: 0, message: null },
  voicemail: { action: 'hangup', message: null, continueOnVoiceActivity: false, detectionPhrases: [] },
  transfer: { targets: [], instruction: null, messages: [] },
  switchLanguage: { languages: [] },
} as const satisfies Partial<ConversationConfig>;

const ALL_SETTINGS: Readonly<Record<string, unknown>> = { ...DEFAULT_CONVERSATION, ...OPTIONAL };

/**
 * Checks that changes are settings: all names are known, all values have the right type, all sections are complete.
 * @param own the settings to change
 * @throws ParleyError CONFIG_INVALID
 */
export function checkChanges(changes: unknown, own: ConversationConfig): asserts changes is ConfigChanges {
  checkMembers(changes, ALL_SETTINGS, '');
  const merged = mergeConfig(changes as ConfigChanges, own);
  for (const [name, members] of Object.entries(OPTIONAL)) {
    const section = merged[name as keyof typeof OPTIONAL];
    const missing =
      section === null ? undefined : Object.keys(members).find((member) => !Object.hasOwn(section, member));
    if (missing !== undefined) throw invalid(`${name}.${missing}`, 'required');
  }
}

function checkMembers(value: unknown, known: Readonly<Record<string, unknown>>, path: string): void {
  if (!isObject(value)) throw invalid(path, 'must be an object');
  for (const [name, member] of Object.entries(value)) {
    const where = path === '' ? name : `${path}.${name}`;
    if (!Object.hasOwn(known, name)) throw invalid(where, 'unknown setting');
    const usual = known[name];
    const isOff = member === null && Object.hasOwn(OPTIONAL, name) && path === '';
    if (isOff || name === 'toolSpeech') continue; // members of toolSpeech are names of tools
    if (isObject(usual)) checkMembers(member, usual, where);
    else checkValue(member, usual, where);
  }
}

/** A value whose default is null may be a string or a number; a string or number may be null. */
function checkValue(value: unknown, usual: unknown, where: string): void {
  if (Array.isArray(usual)) {
    if (!Array.isArray(value)) throw invalid(where, 'must be an array');
  } else if (isObject(value) || Array.isArray(value)) throw invalid(where, 'must be a single value');
  else if (value !== null && usual !== null && typeof value !== typeof usual) {
    throw invalid(where, `must be a ${typeof usual}`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(path: string, reason: string): ParleyError {
  return new ParleyError('CONFIG_INVALID', { reason: `${path === '' ? 'the changes' : path}: ${reason}` });
}
