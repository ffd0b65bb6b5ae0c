import type { ChatMessage } from '../../../agent/chat.js';
import type { ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { ConversationEffect } from '../../../conversation/events.js';
import { check, type Rule, type Step } from './rule.js';

/**
 * At most one request runs in addition to a speculative one, and only running requests are cancelled. Vendors accept the
 * messages. Speculative replies are neither spoken nor acted upon.
 */
export class Requests implements Rule {
  readonly #running = new Set<number>();
  #speculative: number | null = null;
  readonly #startedTools = new Set<string>();
  /** Prepared utterances that are neither spoken nor cancelled yet. */
  readonly #prepared = new Set<number>();
  readonly #modelHears: boolean;

  constructor({ modelHears }: Pick<ConversationConfig, 'modelHears'>) {
    this.#modelHears = modelHears;
  }

  onStep({ event, effects, state }: Step): void {
    if (event.type === 'llm.done' || event.type === 'llm.failed') this.#running.delete(event.requestId);
    for (const effect of effects) this.#see(effect);
    const { reply, speculation, tools } = state;
    const asked = new Set<number>();
    if (reply?.phase === 'thinking' || reply?.phase === 'streaming') asked.add(reply.requestId);
    if (speculation?.done === false) asked.add(speculation.reply.requestId);
    const same = asked.size === this.#running.size && [...asked].every((id) => this.#running.has(id));
    check(same, 'the running request is the pending one');
    const speculated = speculation?.reply.requestId ?? null;
    check(this.#speculative === speculated, 'a speculation lasts until it is confirmed or cancelled');
    const { sentences = [] } = speculation ?? {};
    const isMeant = (id: number): boolean => sentences.some(({ utteranceId }) => utteranceId === id);
    check([...this.#prepared].every(isMeant), 'a prepared utterance is spoken or cancelled');
    check(speculation === null || state.ending === null, 'no speculation while the conversation ends');
    for (const { call, requestId, afterUtterance } of tools) {
      check(requestId !== speculated, 'speculative replies start no tools');
      check(afterUtterance !== null || this.#startedTools.has(call.id), 'a pending tool was started');
    }
  }

  onEnd(): void {
    check(this.#running.size === 0, 'no request outlives the line');
  }

  #see(effect: ConversationEffect): void {
    if (effect.type === 'llm.start') {
      const others = [...this.#running].filter((id) => id !== this.#speculative);
      check(others.length === 0 || effect.speculative, 'one request runs at a time');
      check(!effect.speculative || this.#speculative === null, 'one speculation runs at a time');
      if (effect.speculative) this.#speculative = effect.requestId;
      this.#running.add(effect.requestId);
      const last = effect.messages.at(-1);
      // A model that hears may get a message without the words, which are not known yet.
      const isHeard = this.#modelHears && effect.speculative && last?.role === 'user' && last.content === '';
      expectWellFormed(isHeard ? effect.messages.slice(0, -1) : effect.messages);
    } else if (effect.type === 'llm.confirm') {
      check(this.#speculative === effect.requestId, 'only a speculation is confirmed');
      this.#speculative = null;
    } else if (effect.type === 'llm.cancel') {
      const isSpeculative = this.#speculative === effect.requestId;
      check(this.#running.delete(effect.requestId) || isSpeculative, 'only a running request is cancelled');
      if (isSpeculative) this.#speculative = null;
    } else if (effect.type === 'tool.start') {
      check(!this.#startedTools.has(effect.call.id), 'a call is made once');
      this.#startedTools.add(effect.call.id);
    } else if (effect.type === 'speak.prepare') this.#prepared.add(effect.utteranceId);
    else if (effect.type === 'speak' || effect.type === 'speak.cancel') this.#prepared.delete(effect.utteranceId);
    else if (effect.type === 'digits.send' || effect.type === 'language.switch') this.#startedTools.add(effect.callId);
  }
}

/** Checks that every result follows its call, once, and that no message is empty. */
function expectWellFormed(messages: readonly ChatMessage[]): void {
  let open: string[] = [];
  const seen = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      check(open.includes(message.toolCallId), 'a result follows its call');
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    check(open.length === 0, 'a call has its result');
    check(message.content !== '' || 'toolCalls' in message, 'no message is empty');
    if (message.role !== 'assistant') continue;
    open = (message.toolCalls ?? []).map(({ id }) => id);
    for (const id of open) check(!seen.has(id), 'calls have unique ids');
    for (const id of open) seen.add(id);
  }
  check(open.length === 0, 'a call has its result');
}
