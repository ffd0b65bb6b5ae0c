import { delay } from '../../../clock/clock.js';
import type { ChatMessage } from '../../../config/chat.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../llm.js';
import { compileScript, type CompiledScript } from './compile.js';
import { ScriptConversation, type ScriptReply } from './conversation.js';
import { parseScript, type AgentScriptInput } from './schema.js';
import { parseIsoDate, type DayNumber } from './slots/date.js';
import { pieces } from './text.js';

/** Milliseconds of virtual time until the first piece. On a real clock it comes at once. */
const FIRST_PIECE_MS = 2;

/**
 * The embedded scripted model: replies by an agent file's own rules. The same messages and tools always give the
 * same reply. Throws CONFIG_INVALID that names the place where the script is not valid.
 */
export function scriptedProvider(script: AgentScriptInput): LlmProvider {
  return new ScriptedProvider(compileScript(parseScript(script)));
}

class ScriptedProvider implements LlmProvider {
  readonly name = 'scripted';
  readonly virtualTime = true;
  readonly #script: CompiledScript;

  constructor(script: CompiledScript) {
    this.#script = script;
  }

  async warmUp(): Promise<void> {
    // Nothing is loaded later: the script was made ready when the provider was.
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    request.signal.throwIfAborted();
    const { text, calls } = replyTo(this.#script, request);
    if (request.clock.virtual) await delay(request.clock, FIRST_PIECE_MS, request.signal);
    for (const piece of pieces(text)) {
      yield { type: 'text', text: piece };
      request.signal.throwIfAborted();
    }
    for (const call of calls) yield { type: 'toolCall', call };
  }

  async close(): Promise<void> {
    // Holds nothing open.
  }
}

/** Replays the messages and gives the reply that is due. */
function replyTo(script: CompiledScript, request: LlmRequest): ScriptReply {
  const conversation = new ScriptConversation(script, request.tools, dateIn(request.messages));
  let last: ChatMessage['role'] = 'system';
  for (const message of request.messages) {
    if (message.role === 'user') conversation.user(message.content);
    else if (message.role === 'tool') conversation.toolResult(message.content);
    else if (message.role === 'assistant') conversation.heard(message.content);
    if (message.role !== 'system') last = message.role;
  }
  return last === 'user' || last === 'tool' ? conversation.reply : conversation.resume();
}

/**
 * Today's date where the conversation is: the first date behind the word "today" or "date" in a system message, as in
 * "Today is Saturday, 2026-11-21." Null where there is none; days are then handed on in the user's words.
 */
function dateIn(messages: readonly ChatMessage[]): DayNumber | null {
  for (const { role, content } of messages) {
    const date =
      role === 'system' ? /\b(?:today|date)\b[^\n]{0,60}?\b(\d{4}-\d{2}-\d{2})\b/i.exec(content)?.[1] : undefined;
    if (date !== undefined) return parseIsoDate(date);
  }
  return null;
}
