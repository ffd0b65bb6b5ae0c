import type { ChatMessage, ToolCall } from '../../../../agent/chat.js';

/** An item of the server's conversation, and what it represents. */
export type Item = { id: string | null } &
  /** The user's audio; `text` is its transcript, null = not known (yet). The server assigns the id. */
  (
    | { kind: 'heard'; text: string | null }
    /** The model's audio; `text` is its full transcript, however much was heard. */
    | { kind: 'said'; text: string }
    /** Text of either side that we inserted. */
    | { kind: 'written'; role: 'user' | 'assistant'; text: string }
    | { kind: 'call'; callId: string; name: string; arguments: string }
    | { kind: 'result'; callId: string; output: string }
  );

/** The desired content of the conversation, in order. */
type Unit =
  | { kind: 'user'; text: string }
  | { kind: 'assistant'; text: string }
  | { kind: 'call'; call: ToolCall }
  | { kind: 'result'; callId: string; output: string };

/**
 * Mirrors the server's conversation and syncs it with the history: computes for each request which items to delete and
 * to create. Audio that represents a message stays: the model knows how it was said, and the vendor has it cached.
 * Messages without audio are inserted as text: a greeting from another TTS connection, or everything after a reconnect.
 * Pure.
 */
export class Items {
  #items: Item[] = [];
  #count = 0;

  /** A new connection starts with an empty conversation. */
  clear(): void {
    this.#items = [];
  }

  /** The user's audio was committed; the server will assign an id. */
  committed(): void {
    this.#items.push({ id: null, kind: 'heard', text: null });
  }

  /** The server assigned an id to the oldest commit without one. */
  named(id: string): void {
    const item = this.#items.find((candidate) => candidate.id === null);
    if (item !== undefined) item.id = id;
  }

  /** The server rejected the oldest commit without an id. */
  refused(): void {
    const index = this.#items.findIndex((candidate) => candidate.id === null);
    if (index >= 0) this.#items.splice(index, 1);
  }

  /** The transcript of the user's item: the whole, or (`isMore`) a delta. */
  transcribed(id: string, text: string, isMore = false): void {
    const item = this.#items.find((candidate) => candidate.id === id);
    if (item?.kind === 'heard') item.text = isMore ? (item.text ?? '') + text : text;
  }

  /** A response has started an item. */
  began(id: string, item: { kind: 'said' } | { kind: 'call'; callId: string; name: string }): void {
    if (item.kind === 'said') this.#items.push({ id, kind: 'said', text: '' });
    else this.#items.push({ id, ...item, arguments: '' });
  }

  /** More of an item's transcript. */
  says(id: string, text: string): void {
    const item = this.#items.find((candidate) => candidate.id === id);
    if (item?.kind === 'said') item.text += text;
  }

  /** Removes an item that was not played. Returns the client events for the server. */
  removed(id: string): object[] {
    const index = this.#items.findIndex((candidate) => candidate.id === id);
    if (index < 0) return [];
    this.#items.splice(index, 1);
    return [deletion(id)];
  }

  has(id: string): boolean {
    return this.#items.some((item) => item.id === id);
  }

  /** Whether the conversation ends with an item of the user. */
  get endsWithUser(): boolean {
    const last = this.#items.at(-1);
    return last?.kind === 'heard' || (last?.kind === 'written' && last.role === 'user');
  }

  /** Whether there is audio of the user without a message. */
  get hasUnnamed(): boolean {
    return this.#items.some((item) => item.id === null);
  }

  /**
   * Makes the conversation match these messages (without system messages).
   * @returns client events, in order
   */
  hold(messages: readonly ChatMessage[]): object[] {
    const wanted = unitsOf(messages);
    const { kept, taken } = matched(wanted, this.#items);
    const deletions = this.#items.filter((item) => item.id !== null && !taken.has(item));
    const events: object[] = deletions.map((item) => deletion(item.id ?? ''));
    const items: Item[] = [];
    for (const [index, unit] of wanted.entries()) {
      for (const entry of kept[index] ?? []) {
        if ('kind' in entry) items.push(entry);
        else this.#write(entry.text, unit.kind === 'user' ? 'user' : 'assistant', items, events);
      }
      if (unit.kind === 'call' || unit.kind === 'result') {
        if ((kept[index] ?? []).length === 0) this.#put(itemOf(unit, this.#newId()), items, events);
      }
    }
    // An item without an id cannot be deleted yet; the next request deletes it once it has one.
    items.push(...this.#items.filter((item) => item.id === null && !taken.has(item)));
    this.#items = items;
    return events;
  }

  #write(text: string, role: 'user' | 'assistant', items: Item[], events: object[]): void {
    if (text.trim() !== '') this.#put({ id: this.#newId(), kind: 'written', role, text }, items, events);
  }

  #put(item: Item, items: Item[], events: object[]): void {
    const before = items.at(-1);
    // The server has no id for the item before it: append at the end.
    const place = before === undefined ? 'root' : before.id;
    items.push(item);
    events.push({
      type: 'conversation.item.create',
      previous_item_id: place ?? undefined,
      item: wireOf(item),
    });
  }

  #newId(): string {
    return `parley_${String(++this.#count)}`;
  }
}

function deletion(id: string): object {
  return { type: 'conversation.item.delete', item_id: id };
}

function unitsOf(messages: readonly ChatMessage[]): Unit[] {
  const units: Unit[] = [];
  for (const message of messages) {
    if (message.role === 'user') units.push({ kind: 'user', text: message.content });
    else if (message.role === 'tool') {
      units.push({ kind: 'result', callId: message.toolCallId, output: message.content });
    } else if (message.role === 'assistant') {
      if (message.content.trim() !== '') units.push({ kind: 'assistant', text: message.content });
      for (const call of message.toolCalls ?? []) units.push({ kind: 'call', call });
    }
  }
  return units;
}

/** Parts of a unit: existing items, and text to insert. */
type Part = Item | { text: string };

function matched(wanted: readonly Unit[], items: readonly Item[]): { kept: Part[][]; taken: Set<Item> } {
  const kept: Part[][] = wanted.map(() => []);
  const taken = new Set<Item>();
  let from = 0;
  /** User units since the last unit of another role that was matched. */
  let users: number[] = [];
  const settle = (to: number): void => {
    for (const [index, parts] of heardParts(wanted, users, items.slice(from, to))) {
      kept[index] = parts;
      for (const part of parts) if ('kind' in part) taken.add(part);
    }
    users = [];
  };
  for (const [index, unit] of wanted.entries()) {
    if (unit.kind === 'user') {
      users.push(index);
      continue;
    }
    const found = items.findIndex((item, at) => at >= from && stands(item, unit));
    if (found < 0) {
      if (unit.kind === 'assistant') kept[index] = [{ text: unit.text }];
      continue;
    }
    settle(found);
    const parts = unit.kind === 'assistant' ? spokenParts(items.slice(found), unit.text) : [items[found] as Item];
    kept[index] = parts;
    const own = parts.filter((part) => 'kind' in part);
    for (const item of own) taken.add(item);
    from = found + own.length;
  }
  settle(items.length);
  return { kept, taken };
}

/** Whether an item represents (a part of) a unit other than the user's. */
function stands(item: Item, unit: Exclude<Unit, { kind: 'user' }>): boolean {
  if (unit.kind === 'assistant') return placeIn(item, unit.text) !== null;
  if (unit.kind === 'call') return item.kind === 'call' && item.callId === unit.call.id;
  return item.kind === 'result' && item.callId === unit.callId && item.output === unit.output;
}

/** The text before and after an item's words in a message of the agent; null = not contained. */
function placeIn(item: Item, text: string): [before: string, behind: string] | null {
  if (item.kind === 'said') return followed(item.text, text);
  // Text items count as heard in full.
  const isWritten = item.kind === 'written' && item.role === 'assistant' && contains(text, item.text);
  return isWritten ? followed(item.text, text) : null;
}

/** The model's own words, with the text of other sources around them. */
function spokenParts(items: readonly Item[], text: string): Part[] {
  const parts: Part[] = [];
  let rest = text;
  for (const item of items) {
    const place = placeIn(item, rest);
    if (place === null) break;
    const [before, behind] = place;
    if (before !== '') parts.push({ text: before });
    parts.push(item);
    rest = behind;
  }
  return rest === '' ? parts : [...parts, { text: rest }];
}

/** Assigns items to the user's messages between two others. Items that match none are dropped. */
function heardParts(wanted: readonly Unit[], users: readonly number[], items: readonly Item[]): Map<number, Part[]> {
  const found = users.map((index) => ({ index, text: (wanted[index] as { text: string }).text, items: [] as Item[] }));
  let at = 0;
  for (const item of items) {
    const place = found.findIndex(({ text }, order) => order >= at && fits(item, text));
    if (place < 0) continue;
    at = place;
    found[place]?.items.push(item);
  }
  return new Map(found.map(({ index, text, items: own }) => [index, partsOf(own, text)]));
}

/** The items of a message, and between them text without an item: typed, or heard before a reconnect. */
function partsOf(items: readonly Item[], text: string): Part[] {
  const parts: Part[] = [];
  let rest = isWordless(text) ? '' : text;
  for (const item of items) {
    const place = wordsIn(item) === null ? null : followed(wordsIn(item) ?? '', rest);
    if (place !== null && place[0] !== '') parts.push({ text: place[0] });
    parts.push(item);
    if (place !== null) rest = place[1];
  }
  const isWritten = rest !== '' || (items.length === 0 && text !== '');
  return isWritten ? [...parts, { text: rest === '' ? text : rest }] : parts;
}

/** An answer may be due before the transcript is known, and speech without a transcript is still speech. */
function isWordless(text: string): boolean {
  return text === '' || text.startsWith('[');
}

/** The transcript of a user's item; null = not known. */
function wordsIn(item: Item): string | null {
  return item.kind === 'heard' || item.kind === 'written' ? item.text : null;
}

function fits(item: Item, text: string): boolean {
  const isUsers = item.kind === 'heard' || (item.kind === 'written' && item.role === 'user');
  if (!isUsers) return false;
  if (item.text === null || (item.kind === 'heard' && isWordless(text))) return true;
  return contains(text, item.text);
}

function itemOf(unit: Extract<Unit, { kind: 'call' | 'result' }>, id: string): Item {
  if (unit.kind === 'result') return { id, kind: 'result', callId: unit.callId, output: unit.output };
  const { id: callId, name, arguments: given } = unit.call;
  return { id, kind: 'call', callId, name, arguments: given };
}

function wireOf(item: Item): object {
  const { id } = item;
  switch (item.kind) {
    case 'call':
      return { id, type: 'function_call', call_id: item.callId, name: item.name, arguments: item.arguments };
    case 'result':
      return { id, type: 'function_call_output', call_id: item.callId, output: item.output };
    case 'written': {
      const type = item.role === 'user' ? 'input_text' : 'output_text';
      return { id, type: 'message', role: item.role, content: [{ type, text: item.text }] };
    }
    case 'heard':
    case 'said':
      throw new Error('audio cannot be written');
  }
}

/** The words of a text, ignoring case and punctuation. */
function wordsOf(text: string): string[] {
  return wordsWithPlaces(text).map(({ word }) => word);
}

/** Whether a text contains all words of a part, in sequence. */
function contains(text: string, part: string): boolean {
  const words = wordsOf(part);
  return words.length > 0 && ` ${wordsOf(text).join(' ')} `.includes(` ${words.join(' ')} `);
}

/** This many matching words are no coincidence. */
const SURE_WORDS = 3;

/**
 * Finds the speaker's own words, as far as they were heard, in `text`: returns the text before and after. Null = not
 * found.
 * @param own all of the speaker's words; the end may not have been heard
 */
function followed(own: string, text: string): [before: string, behind: string] | null {
  const said = wordsOf(own);
  const written = wordsWithPlaces(text);
  if (said.length === 0 || written.length === 0) return null;
  for (let start = 0; start < written.length; start++) {
    let same = 0;
    while (same < said.length && said[same] === written[start + same]?.word) same++;
    const isWhole = same === said.length || start + same === written.length;
    if (same === 0 || (!isWhole && same < SURE_WORDS)) continue;
    const first = written[start]?.start ?? 0;
    const next = written[start + same]?.start ?? text.length;
    return [text.slice(0, first).trim(), text.slice(next).trim()];
  }
  return null;
}

/** In languages without spaces, each character is a word. */
const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;

function wordsWithPlaces(text: string): { word: string; start: number }[] {
  return [...text.matchAll(WORD)].map((match) => ({
    word: match[0].toLowerCase().replaceAll('’', "'"),
    start: match.index,
  }));
}
