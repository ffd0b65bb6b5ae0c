import { buildSystemPrompt } from '../agent/prompt.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import { type ConversationConfig, DEFAULT_CONVERSATION, type ToolSpeechConfig } from '../conversation/config.js';

/**
 * How an agent's configuration wants its conversation held.
 * @param toolSpeech how it speaks around its tools, by name
 * @param unixMs the time that the conversation begins, in milliseconds since 1970
 * @param direction who called whom, as the agent sees it
 */
export function conversationConfig(
  agent: ResolvedAgent,
  toolSpeech: ReadonlyMap<string, ToolSpeechConfig>,
  unixMs: number,
  direction: ConversationConfig['direction'] = 'inbound',
): ConversationConfig {
  return {
    ...DEFAULT_CONVERSATION,
    language: agent.language,
    direction,
    systemPrompt: buildSystemPrompt(agent, unixMs),
    opening: { ...DEFAULT_CONVERSATION.opening, ...agent.opening },
    interruption: { ...DEFAULT_CONVERSATION.interruption, ...agent.interruption },
    endpointing: { ...DEFAULT_CONVERSATION.endpointing, ...agent.endpointing },
    filler: agent.filler,
    endCall: agent.endCall,
    voicemail: agent.voicemail,
    transfer: agent.transfer,
    keypad: agent.keypad,
    switchLanguage: agent.switchLanguage,
    doNotCall: agent.privacy.doNotCall,
    inactivity: agent.inactivity,
    limits: agent.limits,
    history: agent.history,
    toolSpeech: Object.fromEntries(toolSpeech),
  };
}
