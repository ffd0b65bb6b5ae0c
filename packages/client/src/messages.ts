import type { AssistantMessage, CallHistory, ToolMessage, UserMessage } from './generated/schemas.js';

/** A message of a conversation. */
export type ChatMessage = AssistantMessage | ToolMessage | UserMessage;

/** The messages of a call: `chat` has them as JSON text. */
export function messagesOf({ chat }: Pick<CallHistory, 'chat'>): ChatMessage[] {
  return JSON.parse(chat) as ChatMessage[];
}
