/** The messages of a conversation, as a language model takes them. */
export type ChatMessage =
  | { role: 'system'; content: string }
  /** `name`: another person in the call has said it, not the user. */
  | { role: 'user'; content: string; name?: string }
  /** `name`: the agent that has said it, where several spoke. */
  | { role: 'assistant'; content: string; toolCalls?: readonly ToolCall[]; name?: string }
  | { role: 'tool'; content: string; toolCallId: string };

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text of an object, as the model wrote it; it may be broken. */
  arguments: string;
}

/** A tool as it is offered to the model. */
export interface ToolSpec {
  name: string;
  description: string;
  /** JSON schema of the arguments object. */
  parameters: Readonly<Record<string, unknown>>;
}
