import { delay } from '../../../clock/clock.js';
import type { ChatMessage } from '../../../config/chat.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../llm.js';
import { compileScript, type CompiledScript } from './compile.js';
import { ScriptConversation, type ScriptReply } from './conversation.js';
import { parseScript, type AgentScriptInput } from './schema.js';
import { dateIn } from './local-date.js';
import { pieces } from './text.js';

/** Milliseconds of virtual time until the first piece. On a real clock it comes at once. */
const FIRST_PIECE_MS = 2;

const PRACTICE_ROUNDS = 20;

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
    // Nothing has to be loaded; but code that has run before is quick when the first guest speaks.
    for (let round = 0; round < PRACTICE_ROUNDS; round++) {
      new ScriptConversation(this.#script, [], round).user('hello, I would like something for four tomorrow, please');
    }
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
  const { messages, requiredTool } = request;
  const conversation = new ScriptConversation(script, request.tools, dateIn(messages));
  let last: ChatMessage['role'] = 'system';
  for (const message of requiredTool === undefined ? messages : messages.slice(0, -1)) {
    if (message.role === 'user') conversation.user(message.content);
    else if (message.role === 'tool') conversation.toolResult(message.content);
    else if (message.role === 'assistant') conversation.heard(message.content);
    if (message.role !== 'system') last = message.role;
  }
  if (requiredTool !== undefined) return conversation.callWithKnown(requiredTool);
  return last === 'user' || last === 'tool' ? conversation.reply : conversation.resume();
}
