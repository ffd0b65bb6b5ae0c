import { baseLanguage } from '../../base/language.js';
import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { languageName } from '../../agent/language.js';
import { textArgument } from './call-arguments.js';
import type { SwitchLanguageConfig } from '../../agent/flow/conversation-config.js';
import type { Core, RunningAction } from '../core.js';

/** The model changes the language of the conversation. */
export const switchLanguage: RunningAction = {
  kind: 'running',
  name: 'switch_language',
  takesLine: false,
  isEnabled: (config) => config.switchLanguage !== null,
  tool: ({ switchLanguage: config }) => {
    return config !== null && config.languages.length > 0 ? switchLanguageTool(config) : null;
  },
  promptNote: ({ state: { language } }) => {
    if (language === null) return null;
    return `The conversation has changed its language: it is in ${languageName(language)} now. Answer in it.`;
  },
  start: (core, call) => {
    const language = listed(core, call);
    if (language === null || language === core.language) return;
    core.emit({ type: 'language.switch', callId: call.id, language });
  },
  resultAtOnce: switchRefusal,
};

function switchLanguageTool({ languages }: SwitchLanguageConfig): ToolSpec {
  const offered = languages.map((code) => `${code}: ${languageName(code)}`).join('; ');
  return {
    name: switchLanguage.name,
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

/** The model's result for a call that changes nothing; null = the language changes. */
function switchRefusal(core: Core, call: ToolCall): string | null {
  const language = listed(core, call);
  if (language === null) {
    const known = core.config.switchLanguage?.languages.join(', ') ?? '';
    core.trace('language.refused', { callId: call.id });
    return `Not changed: \`language\` has to be one of ${known}. The conversation goes on in ${languageName(core.language)}.`;
  }
  return language === core.language ? `The conversation is in ${languageName(language)} already.` : null;
}

/** The offered language that a call names, also in other letters (`EN-us`) or without region. */
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
