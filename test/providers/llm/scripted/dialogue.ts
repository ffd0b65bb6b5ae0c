import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { ChatMessage, ToolCall, ToolSpec } from '../../../../src/agent/chat.js';
import type { LlmProvider } from '../../../../src/providers/llm/llm.js';

export interface Turn {
  text: string;
  calls: readonly ToolCall[];
}

/** Saturday. */
export const SYSTEM = 'You are a front desk. Today is Saturday, 2026-11-21.';

export const END_CALL: ToolSpec = {
  name: 'end_call',
  description: 'Ends the call.',
  parameters: { type: 'object', properties: {} },
};

export function toolNamed(name: string): ToolSpec {
  return { name, description: '', parameters: { type: 'object', properties: {} } };
}

/** Takes a model through a conversation in text, keeping the history as a session does. */
export class Dialogue {
  readonly messages: ChatMessage[];
  readonly #provider: LlmProvider;
  readonly #tools: readonly ToolSpec[];

  constructor(provider: LlmProvider, tools: readonly ToolSpec[], system = SYSTEM) {
    this.#provider = provider;
    this.#tools = tools;
    this.messages = [{ role: 'system', content: system }];
  }

  /** A request as the history stands; nothing is added to it. */
  async request(): Promise<Turn> {
    const clock = new VirtualClock();
    const turn: { text: string; calls: ToolCall[] } = { text: '', calls: [] };
    let done = false;
    const work = (async () => {
      const pieces = this.#provider.complete({
        model: 'scripted',
        messages: this.messages,
        tools: this.#tools,
        temperature: 0,
        clock,
        signal: new AbortController().signal,
      });
      for await (const piece of pieces) {
        if (piece.type === 'text') turn.text += piece.text;
        else if (piece.type === 'toolCall') turn.calls.push(piece.call);
      }
      done = true;
    })();
    await clock.runUntil(() => done);
    await work;
    return turn;
  }

  /** The user says something; the whole reply is heard. */
  async say(text: string): Promise<Turn> {
    this.messages.push({ role: 'user', content: text });
    return this.#hear(await this.request());
  }

  /** The user says something; of the reply only a part is heard. */
  async sayAndCut(text: string, heard: (reply: string) => string): Promise<Turn> {
    this.messages.push({ role: 'user', content: text });
    const turn = await this.request();
    const content = heard(turn.text);
    if (content !== '') this.messages.push({ role: 'assistant', content });
    return turn;
  }

  /** The result of the latest call. */
  async result(content: string): Promise<Turn> {
    const call = this.messages.flatMap((m) => (m.role === 'assistant' ? (m.toolCalls ?? []) : [])).at(-1);
    if (call === undefined) throw new Error('no call to answer');
    this.messages.push({ role: 'tool', toolCallId: call.id, content });
    return this.#hear(await this.request());
  }

  #hear(turn: Turn): Turn {
    if (turn.calls.length > 0) this.messages.push({ role: 'assistant', content: turn.text, toolCalls: turn.calls });
    else if (turn.text !== '') this.messages.push({ role: 'assistant', content: turn.text });
    return turn;
  }
}
