import type { Clock } from '../clock/clock.js';
import type { ChatMessage, ToolSpec } from '../config/chat.js';
import type { ConversationEvent } from '../conversation/events.js';
import { reasonOf } from '../errors.js';
import type { LlmProvider, LlmUsage } from '../providers/llm/llm.js';
import { untilAborted } from './abortable.js';

export interface ThinkingOptions {
  llm: LlmProvider;
  model: string;
  temperature: number;
  clock: Clock;
  onEvent: (event: ConversationEvent) => void;
  onUsage: (usage: LlmUsage) => void;
}

/** The agent's head: runs the model's requests and turns what it streams into events. */
export class Thinking {
  readonly #options: ThinkingOptions;
  readonly #running = new Map<number, AbortController>();

  constructor(options: ThinkingOptions) {
    this.#options = options;
  }

  start(requestId: number, messages: readonly ChatMessage[], tools: readonly ToolSpec[]): void {
    const abort = new AbortController();
    this.#running.set(requestId, abort);
    void this.#run(requestId, messages, tools, abort.signal).finally(() => this.#running.delete(requestId));
  }

  cancel(requestId: number): void {
    this.#running.get(requestId)?.abort();
  }

  close(): void {
    for (const abort of this.#running.values()) abort.abort();
  }

  async #run(
    requestId: number,
    messages: readonly ChatMessage[],
    tools: readonly ToolSpec[],
    signal: AbortSignal,
  ): Promise<void> {
    const { llm, model, temperature, clock, onEvent, onUsage } = this.#options;
    try {
      const pieces = llm.complete({ model, messages, tools, temperature, clock, signal });
      for await (const piece of untilAborted(pieces, signal)) {
        if (piece.type === 'text') onEvent({ ...piece, type: 'llm.text', requestId });
        else if (piece.type === 'toolCall') onEvent({ type: 'llm.toolCall', requestId, call: piece.call });
        else onUsage(piece);
      }
      if (!signal.aborted) onEvent({ type: 'llm.done', requestId });
    } catch (error) {
      if (!signal.aborted) onEvent({ type: 'llm.failed', requestId, reason: reasonOf(error) });
    }
  }
}
