import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../../../src/agent/chat.js';
import { Items } from '../../../../../src/providers/llm/vendors/openai-realtime/items.js';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const agent = (content: string): ChatMessage => ({ role: 'assistant', content });
const calls = (content: string, id: string, result: string): ChatMessage[] => [
  { role: 'assistant', content, toolCalls: [{ id, name: 'look', arguments: '{}' }] },
  { role: 'tool', toolCallId: id, content: result },
];

/** What changes: `-id` is taken out, `+text@id` put behind an item. */
function changes(items: Items, messages: readonly ChatMessage[]): string[] {
  return items.hold(messages).map((event) => {
    const { item_id, item, previous_item_id } = event as Record<string, string> & {
      item?: { content?: [{ text: string }]; output?: string; call_id?: string };
    };
    if (item === undefined) return `-${String(item_id)}`;
    return `+${item.content?.[0].text ?? item.output ?? item.call_id ?? ''}@${previous_item_id ?? 'end'}`;
  });
}

/** The user is heard and the model answers. */
function turn(items: Items, id: string, heard: string, said: string): void {
  items.committed();
  items.named(`h${id}`);
  items.transcribed(`h${id}`, heard);
  items.began(`s${id}`, { kind: 'said' });
  items.says(`s${id}`, said);
}

describe('the items of a conversation', () => {
  it('are left alone where they say what the history says, however it is written', () => {
    const items = new Items();
    turn(items, '1', 'A table for two.', 'For two. When?');
    expect(changes(items, [user('a table, for two'), agent('For two. When?')])).toEqual([]);
    expect(changes(items, [user('a table, for two'), agent('For two. When?')])).toEqual([]);
  });

  it('lose what the history forgets, and what is behind it stays', () => {
    const items = new Items();
    turn(items, '1', 'a table', 'For how many people?');
    turn(items, '2', 'for two', 'At what time then?');
    expect(changes(items, [user('for two'), agent('At what time then?')])).toEqual(['-h1', '-s1']);
    expect(changes(items, [agent('At what time then?'), user('at eight')])).toEqual(['-h2', '+at eight@s2']);
  });

  it('have what was said around the model’s own words, once', () => {
    const items = new Items();
    turn(items, '1', 'a table', 'There is one at eight, and later');
    const history = [user('a table'), agent('One moment. There is one at eight, and')];
    expect(changes(items, history)).toEqual(['+One moment.@h1']);
    expect(changes(items, history)).toEqual([]);
  });

  it('tell two like answers apart by their place', () => {
    const items = new Items();
    turn(items, '1', 'yes', 'Good.');
    turn(items, '2', 'yes', 'Good.');
    turn(items, '3', 'no', 'I see.');
    const whole = [user('yes'), agent('Good.'), user('yes'), agent('Good.'), user('no'), agent('I see.')];
    expect(changes(items, whole)).toEqual([]);
  });

  it('have each result behind its call, and the latest one', () => {
    const items = new Items();
    items.committed();
    items.named('h1');
    items.transcribed('h1', 'a table');
    items.began('c1', { kind: 'call', callId: 'call_1', name: 'look' });
    const [first] = changes(items, [user('a table'), ...calls('', 'call_1', 'Still running')]);
    expect(first).toBe('+Still running@c1');
    const renewed = changes(items, [user('a table'), ...calls('', 'call_1', 'free')]);
    expect(renewed).toEqual(['-parley_1', '+free@c1']);
  });

  it('are written anew on another connection, calls and results too', () => {
    const items = new Items();
    turn(items, '1', 'a table', 'One.');
    items.clear();
    const history = [agent('Hello.'), user('a table'), ...calls('Let me see.', 'call_1', 'free'), user('tonight')];
    expect(changes(items, history)).toEqual([
      '+Hello.@root',
      '+a table@parley_1',
      '+Let me see.@parley_2',
      '+call_1@parley_3',
      '+free@parley_4',
      '+tonight@parley_5',
    ]);
  });

  it('stand for speech whose words are not known, or never will be', () => {
    const items = new Items();
    items.committed();
    expect(changes(items, [agent('Hello.'), user('')])).toEqual(['+Hello.@root']);
    items.named('h1');
    expect(changes(items, [agent('Hello.'), user('[inaudible]')])).toEqual([]);
    expect(items.endsWithUser).toBe(true);
  });

  it('know languages that have no spaces', () => {
    const items = new Items();
    turn(items, '1', '予約をお願いします', '何名様ですか。お時間は');
    expect(changes(items, [user('予約をお願いします。'), agent('何名様ですか。お')])).toEqual([]);
  });
});
