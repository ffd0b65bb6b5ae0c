import type { ChatMessage } from '../../../config/chat.js';
import type { ConversationEffect, ConversationEvent } from '../../../conversation/events.js';
import { check, type Rule, type Step } from './rule.js';

/** One request runs at a time, and only what runs is cancelled; the model is given messages that vendors take. */
export class Requests implements Rule {
  #running: number | null = null;
  readonly #startedTools = new Set<string>();

  onStep({ event, effects, state }: Step): void {
    this.#hear(event);
    for (const effect of effects) this.#see(effect);
    const { reply } = state;
    const asked = reply?.phase === 'thinking' || reply?.phase === 'streaming' ? reply.requestId : null;
    check(this.#running === asked, 'the request that runs is the one that is waited for');
    for (const { call, afterUtterance } of state.tools) {
      check(afterUtterance !== null || this.#startedTools.has(call.id), 'a tool that is waited for was started');
    }
  }

  onEnd(): void {
    check(this.#running === null, 'no request outlives the line');
  }

  #hear(event: ConversationEvent): void {
    const isOver = event.type === 'llm.done' || event.type === 'llm.failed';
    if (isOver && event.requestId === this.#running) this.#running = null;
  }

  #see(effect: ConversationEffect): void {
    if (effect.type === 'llm.start') {
      check(this.#running === null, 'one request runs at a time');
      this.#running = effect.requestId;
      expectWellFormed(effect.messages);
    } else if (effect.type === 'llm.cancel') {
      check(this.#running === effect.requestId, 'only what runs is cancelled');
      this.#running = null;
    } else if (effect.type === 'tool.start') {
      check(!this.#startedTools.has(effect.call.id), 'a call is made once');
      this.#startedTools.add(effect.call.id);
    }
  }
}

/** Every result stands right behind its call, once, and no message is empty. */
function expectWellFormed(messages: readonly ChatMessage[]): void {
  let open: string[] = [];
  const seen = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      check(open.includes(message.toolCallId), 'a result stands behind its call');
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    check(open.length === 0, 'a call has its result');
    check(message.content !== '' || 'toolCalls' in message, 'no message is empty');
    if (message.role !== 'assistant') continue;
    open = (message.toolCalls ?? []).map(({ id }) => id);
    for (const id of open) check(!seen.has(id), 'calls have ids of their own');
    for (const id of open) seen.add(id);
  }
  check(open.length === 0, 'a call has its result');
}
