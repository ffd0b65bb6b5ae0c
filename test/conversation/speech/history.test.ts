import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/agent/chat.js';
import { limitMessages } from '../../../src/conversation/speech/history.js';
import { listening } from '../listening.js';

const call = (id: string): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'tables', arguments: '{}' }],
});
const result = (id: string): ChatMessage => ({ role: 'tool', toolCallId: id, content: `result ${id}` });
const user = (content: string): ChatMessage => ({ role: 'user', content });
const all = [user('one'), call('a'), result('a'), user('two'), call('b'), result('b')];

describe('what the model is given', () => {
  it('is all where there is no limit', () => {
    expect(limitMessages(all, { messageLimit: null, toolResultLimit: null })).toEqual(all);
  });

  it('is the latest messages, never more than the limit but for a call with its results', () => {
    expect(limitMessages(all, { messageLimit: 3, toolResultLimit: null })).toEqual(all.slice(3));
    expect(limitMessages(all, { messageLimit: 1, toolResultLimit: null })).toEqual(all.slice(4));
    expect(limitMessages(all, { messageLimit: 4, toolResultLimit: null })).toEqual(all.slice(3));
  });

  it('is the latest results whole, older ones by a placeholder', () => {
    const limited = limitMessages(all, { messageLimit: null, toolResultLimit: 1 });
    expect(limited[2]?.content).toBe('[left out]');
    expect(limited[5]?.content).toBe('result b');
    const none = limitMessages(all, { messageLimit: null, toolResultLimit: 0 });
    expect(none.filter(({ content }) => content === '[left out]')).toHaveLength(2);
  });

  it('keeps results behind their call whatever is said in between', () => {
    const stage = listening();
    stage.tools.answers('tables', '3 free', { afterMs: 2000 });
    stage.model.calls([{ name: 'tables' }], { saying: 'I look.' }).says('Yes.');
    stage.send({ type: 'command.say', text: 'Your taxi is here.' }, { at: 1300 });
    stage.user.types('Is there a table?', { at: 1000 });
    stage.playTo(10_000);
    expect(stage.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'assistant']);
    expect(stage.messages.map(({ content }) => content)).toEqual([
      'Is there a table?',
      'I look.',
      '3 free',
      'Your taxi is here.',
      'Yes.',
    ]);
  });
});
