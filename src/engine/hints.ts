import type { ResolvedAgent } from '../config/resolve.js';
import type { SpeechHints } from '../providers/stt/stt.js';

/**
 * What an agent's configuration tells a recogniser about the words to expect.
 * @param phrases what users of its script may say
 */
export function speechHints(agent: ResolvedAgent, phrases: readonly string[]): SpeechHints {
  const texts = [
    agent.prompt,
    agent.opening.firstMessage ?? '',
    ...agent.filler.messages,
    ...agent.tools.flatMap((tool) => [
      tool.description,
      ...(tool.params ?? []).map((param) => param.description ?? ''),
      ...(tool.messages ?? []),
    ]),
  ];
  return { phrases, texts: texts.filter((text) => text !== ''), keywords: agent.keywords };
}
