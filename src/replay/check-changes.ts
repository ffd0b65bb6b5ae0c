import { type ConversationConfig, DEFAULT_CONVERSATION } from '../agent/conversation-config.js';
import { ParleyError } from '../base/errors.js';
import { type ConfigChanges, mergeConfig } from '../conversation/merge-config.js';

/** Sections that may be off, with all of their members. */
const OPTIONAL = {
  inactivity: { idleMs: 0, message: null },
  voicemail: { action: 'hangup', message: null, continueOnVoiceActivity: false, detectionPhrases: [] },
  transfer: { targets: [], instruction: null, messages: [] },
  switchLanguage: { languages: [] },
} as const satisfies Partial<ConversationConfig>;

const ALL_SETTINGS: Readonly<Record<string, unknown>> = { ...DEFAULT_CONVERSATION, ...OPTIONAL };

/**
 * Sees to it that changes are settings: every name is known, every value of its kind, every section whole.
 * @param own the settings that are changed
 * @throws ParleyError CONFIG_INVALID
 */
export function checkChanges(changes: unknown, own: ConversationConfig): asserts changes is ConfigChanges {
  checkMembers(changes, ALL_SETTINGS, '');
  const merged = mergeConfig(changes as ConfigChanges, own);
  for (const [name, members] of Object.entries(OPTIONAL)) {
    const section = merged[name as keyof typeof OPTIONAL];
    const missing =
      section === null ? undefined : Object.keys(members).find((member) => !Object.hasOwn(section, member));
    if (missing !== undefined) throw invalid(`${name}.${missing}`, 'it is missing');
  }
}

function checkMembers(value: unknown, known: Readonly<Record<string, unknown>>, path: string): void {
  if (!isObject(value)) throw invalid(path, 'an object is needed here');
  for (const [name, member] of Object.entries(value)) {
    const where = path === '' ? name : `${path}.${name}`;
    if (!Object.hasOwn(known, name)) throw invalid(where, 'there is no such setting');
    const usual = known[name];
    const mayBeOff = member === null && Object.hasOwn(OPTIONAL, name) && path === '';
    if (mayBeOff || name === 'toolSpeech') continue; // the members of which are names that somebody chose
    if (isObject(usual)) checkMembers(member, usual, where);
    else checkValue(member, usual, where);
  }
}

/** What is null by default may be a text or a number, and what is a text or a number may be null. */
function checkValue(value: unknown, usual: unknown, where: string): void {
  if (Array.isArray(usual)) {
    if (!Array.isArray(value)) throw invalid(where, 'a list is needed here');
  } else if (isObject(value) || Array.isArray(value)) throw invalid(where, 'a single value is needed here');
  else if (value !== null && usual !== null && typeof value !== typeof usual) {
    throw invalid(where, `a ${typeof usual} is needed here`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(path: string, reason: string): ParleyError {
  return new ParleyError('CONFIG_INVALID', { reason: `${path === '' ? 'the changes' : path}: ${reason}` });
}
