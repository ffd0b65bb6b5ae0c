import { baseLanguage } from '../../base/language.js';
import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { languageName } from '../../agent/language-name.js';
import { textArgument } from './call-arguments.js';
import type { SwitchLanguageConfig } from '../config.js';
import type { Core } from '../core.js';

/** The action by which the model changes the language of the conversation. */
export const SWITCH_LANGUAGE = 'switch_language';

export function switchLanguageTool({ languages }: SwitchLanguageConfig): ToolSpec {
  const offered = languages.map((code) => `${code}: ${languageName(code)}`).join('; ');
  return {
    name: SWITCH_LANGUAGE,
    description:
      'Changes the language in which the user is heard and you are spoken. Use it when the user speaks or asks for ' +
      'another of these languages, before you answer in it.',
    parameters: {
      type: 'object',
      properties: { language: { type: 'string', enum: languages, description: offered } },
      required: ['language'],
      additionalProperties: false,
    },
  };
}

export function isSwitchLanguage(core: Core, call: ToolCall): boolean {
  return core.config.switchLanguage !== null && call.name === SWITCH_LANGUAGE;
}

/** The language that a call asks for, where it can be had; in other letters (`EN-us`) or without its region, too. */
export function languageOf(core: Core, call: ToolCall): string | null {
  const language = listed(core, call);
  return language === core.language ? null : language;
}

/** What the model is told of a call that changes nothing; null = it does. */
export function switchRefusal(core: Core, call: ToolCall): string | null {
  const language = listed(core, call);
  if (language === null) {
    const known = core.config.switchLanguage?.languages.join(', ') ?? '';
    core.trace('language.refused', { callId: call.id });
    return `Not changed: \`language\` has to be one of ${known}. The conversation goes on in ${languageName(core.language)}.`;
  }
  return language === core.language ? `The conversation is in ${languageName(language)} already.` : null;
}

/** What the model is told of a language that the prompt does not know of. */
export function languageNote(language: string): string {
  return `The conversation has changed its language: it is in ${languageName(language)} now. Answer in it.`;
}

function listed(core: Core, call: ToolCall): string | null {
  const wanted = textArgument(call.arguments, 'language')?.toLowerCase();
  const languages = core.config.switchLanguage?.languages ?? [];
  if (wanted === undefined) return null;
  return (
    languages.find((code) => code.toLowerCase() === wanted) ??
    languages.find((code) => baseLanguage(code) === baseLanguage(wanted)) ??
    null
  );
}
