import { handoverIn } from '../../../agent/flow/handover.js';
import { delay } from '../../../base/clock.js';
import type { ChatMessage } from '../../../agent/chat.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../llm.js';
import { type CompiledScript, compileScript } from './compile.js';
import { ScriptConversation, type ScriptReply } from './conversation.js';
import { type AgentScriptInput, parseScript } from './schema.js';
import { followStep } from './steps.js';
import { pieces } from './text.js';
import { type DayNumber, parseDate, parseIsoDate } from '../../../base/spoken/date.js';

const ISO = /\b(?:now|today|date)\b[^\n]{0,60}?\b(\d{4}-\d{2}-\d{2})\b/i;
const WRITTEN = /\b(?:now|today|date)\b[^\n]{0,60}?\b(\d{1,2}) (\p{L}+) (\d{4})\b/iu;

/**
 * Today's date at the conversation's place, read from a system message after "now", "today" or "date": "It is now
 * Saturday, 21 November 2026 at 11:29" or "Today is 2026-11-21". The last one wins: the session's text follows the
 * agent's own prompt. Null if there is none; days are then passed on in the user's words.
 */
export function dateIn(messages: readonly ChatMessage[]): DayNumber | null {
  let day: DayNumber | null = null;
  for (const { role, content } of messages) {
    if (role !== 'system') continue;
    for (const line of content.split('\n')) {
      const written = WRITTEN.exec(line);
      const iso = ISO.exec(line)?.[1];
      if (written !== null) day = parseDate(Number(written[1]), written[2] ?? '', Number(written[3])) ?? day;
      else if (iso !== undefined) day = parseIsoDate(iso) ?? day;
    }
  }
  return day;
}

/** Virtual time to the first piece, in milliseconds. On a real clock it comes at once. */
const FIRST_PIECE_MS = 2;

const PRACTICE_ROUNDS = 20;

/**
 * The embedded scripted model: replies by an agent file's own rules. The same messages and tools always give the same
 * reply.
 * @throws ParleyError CONFIG_INVALID naming the place of an error in the script
 */
export function scriptedProvider(script: AgentScriptInput): LlmProvider {
  const compiled = compileScript(parseScript(script));
  return new ScriptedProvider(() => compiled);
}

/** The same for a script that is known to be right: compiled when it is first used. */
export function lazyScriptedProvider(script: AgentScriptInput): LlmProvider {
  let compiled: CompiledScript | null = null;
  return new ScriptedProvider(() => (compiled ??= compileScript(parseScript(script))));
}

class ScriptedProvider implements LlmProvider {
  readonly name = 'scripted';
  readonly virtualTime = true;
  readonly #script: () => CompiledScript;

  constructor(script: () => CompiledScript) {
    this.#script = script;
  }

  async warmUp(): Promise<void> {
    // There is nothing to load, but running the code once warms it up for the first caller.
    for (let round = 0; round < PRACTICE_ROUNDS; round++) {
      new ScriptConversation(this.#script(), [], round).user('hello, I would like something for four tomorrow, please');
    }
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    request.signal.throwIfAborted();
    const { text, calls } = replyTo(this.#script(), request);
    if (request.clock.virtual) await delay(request.clock, FIRST_PIECE_MS, request.signal);
    for (const piece of pieces(text)) {
      yield { type: 'text', text: piece };
      request.signal.throwIfAborted();
    }
    for (const call of calls) yield { type: 'toolCall', call };
  }

  async close(): Promise<void> {
    // Holds no resources.
  }
}

/** Replays the messages and returns the reply that is due. */
function replyTo(script: CompiledScript, request: LlmRequest): ScriptReply {
  const { messages, requiredTool, step } = request;
  if (step !== undefined && requiredTool === undefined) return followStep(script, step, messages, dateIn(messages));
  const conversation = new ScriptConversation(script, request.tools, dateIn(messages));
  let last: ChatMessage['role'] = 'system';
  let isOurs = true;
  let question: string | null = null;
  for (const message of requiredTool === undefined ? messages : messages.slice(0, -1)) {
    const { role, content } = message;
    if (role === 'user') question = content;
    const handover = role === 'system' ? handoverIn(content) : null;
    if (handover?.is === 'passed') isOurs = false;
    else if (handover !== null) {
      if (handover.is === 'over') conversation.begin();
      else conversation.goOn();
      isOurs = true;
      // What the user said last, to another agent, is for this one.
      const isAsked = handover.isAsked && question !== null;
      if (isAsked) conversation.user(question ?? '');
      last = isAsked ? 'user' : 'system';
    }
    if (!isOurs) continue;
    if (role === 'user') conversation.user(content);
    else if (role === 'tool') conversation.toolResult(content);
    else if (role === 'assistant') conversation.heard(content);
    if (role !== 'system') last = role;
  }
  if (requiredTool !== undefined) return conversation.callWithKnown(requiredTool);
  return last === 'user' || last === 'tool' ? conversation.reply : conversation.resume();
}
