import { EventRefusal } from './client-events.js';
import type { ServerEvents } from './server-events.js';

/** An item of the conversation, as events show it. */
export interface ConversationItem {
  id: string;
  object: 'realtime.item';
  type: 'message' | 'function_call' | 'function_call_output';
  status: 'in_progress' | 'completed' | 'incomplete';
  role?: 'user' | 'assistant' | 'system';
  content?: ItemPart[];
  name?: string;
  call_id?: string;
  arguments?: string;
  output?: string;
}

export interface ItemPart {
  type: 'input_text' | 'input_audio' | 'output_text' | 'output_audio';
  text?: string;
  transcript?: string | null;
}

/** Older items can no longer be retrieved. */
const MAX_ITEMS = 1_000;

/** The items of a session, the oldest first. */
export class ConversationItems {
  readonly #events: ServerEvents;
  readonly #items = new Map<string, ConversationItem>();
  #last: string | null = null;

  constructor(events: ServerEvents) {
    this.#events = events;
  }

  get last(): string | null {
    return this.#last;
  }

  has(id: string): boolean {
    return this.#items.has(id);
  }

  /** @throws EventRefusal */
  get(id: string): ConversationItem {
    const item = this.#items.get(id);
    if (item !== undefined) return item;
    throw new EventRefusal('item_not_found', `There is no item "${id.slice(0, 100)}"`, 'item_id');
  }

  /** Adds an item behind all others and tells the client. Returns the id of the one before. */
  add(item: ConversationItem): string | null {
    const before = this.#last;
    this.#items.set(item.id, item);
    this.#last = item.id;
    if (this.#items.size > MAX_ITEMS) {
      const [oldest] = this.#items.keys();
      if (oldest !== undefined) this.#items.delete(oldest);
    }
    this.#events.send('conversation.item.added', { previous_item_id: before, item });
    return before;
  }

  /** @param before what `add` returned */
  done(item: ConversationItem, before: string | null): void {
    this.#events.send('conversation.item.done', { previous_item_id: before, item });
  }
}
