import { baseLanguage } from '../base/language.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import { machineSentences } from '../conversation/voicemail/voicemail-hints.js';
import type { SpeechHints } from '../providers/stt/stt.js';
import { languageWishes } from './languages.js';

/**
 * What an agent's configuration tells a recogniser about the words to expect.
 * @param script what its script tells, where it has one. (Its texts are left out: they are what the agent says, and
 *   in the embedded recogniser they draw the user's words towards the agent's.)
 * @param direction on an outbound call a machine may answer: what it would say is expected too
 * @param language what is listened for; the script's phrases are in the agent's own. Default that
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
    // What the agent's configuration says of a word goes before what was found in the script.
    keywords: new Map([...(script?.keywords ?? []), ...agent.keywords]),
  };
}
