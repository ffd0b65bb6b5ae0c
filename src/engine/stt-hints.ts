import { baseLanguage } from '../base/language.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import { machineSentences } from '../conversation/voicemail/voicemail-hints.js';
import type { SpeechHints } from '../providers/stt/stt.js';
import { languageWishes } from './languages.js';

/**
 * Hints for the recogniser from an agent's configuration.
 * @param script hints from its script. (Without the script's texts: they are the agent's words and would bias the
 * embedded recogniser towards them.)
 * @param direction on an outbound call a machine may answer, so its sentences are hints, too
 * @param language the recognised language; the script's phrases are in the agent's own, the default
 */
export function speechHints(
  agent: ResolvedAgent,
  script: SpeechHints | null,
  direction: ConversationConfig['direction'] = 'inbound',
  language: string = agent.language,
): SpeechHints {
  const listensForMachines = direction === 'outbound' && agent.flow.voicemail !== null;
  const machines = listensForMachines
    ? [...(agent.flow.voicemail?.detectionPhrases ?? []), ...machineSentences(language)]
    : [];
  const isOwnLanguage = agent.language === 'multi' || baseLanguage(language) === baseLanguage(agent.language);
  const texts = [
    agent.prompt,
    agent.flow.opening.firstMessage ?? '',
    ...agent.flow.filler.messages,
    ...agent.tools.flatMap((tool) => [
      tool.description,
      ...(tool.params ?? []).map((param) => param.description ?? ''),
      ...(tool.messages ?? []),
    ]),
  ];
  return {
    phrases: [
      ...(isOwnLanguage ? (script?.phrases ?? []) : []),
      ...machines,
      ...languageWishes(language, agent.switchLanguage?.languages ?? []),
    ],
    texts: texts.filter((text) => text !== ''),
    // The agent's keywords override those of the script.
    keywords: new Map([...(script?.keywords ?? []), ...agent.keywords]),
  };
}
