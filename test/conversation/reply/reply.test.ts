import { describe, expect, it } from 'vitest';
import type { ToolSpeechConfig } from '../../../src/agent/flow/conversation-config.js';
import type { Stage } from '../../../src/stage/stage.js';
import { listening, timesOf, traces } from '../listening.js';

const ASKED = { from: 1000, to: 2200 };
const texts = (stage: Stage) => stage.timeline.turns.map(({ text }) => text);

function speech(settings: Partial<ToolSpeechConfig>): ToolSpeechConfig {
  return { messages: ['Let me look.'], responseMode: 'strict', executeAfterMessage: false, ...settings };
}

describe('a reply', () => {
  it('is spoken sentence by sentence while it comes', () => {
    const stage = listening();
    stage.model.says('We open at noon. The kitchen closes at ten. Shall I book a table?', { gapMs: 150 });
    stage.user.says('When are you open?', ASKED);
    stage.playTo(20_000);
    const spoken = stage.timeline.utterances.map(({ text }) => text);
    expect(spoken).toEqual(['We open at noon.', 'The kitchen closes at ten.', 'Shall I book a table?']);
    stage.expectAgent('The kitchen').follows('We open');
    expect(stage.timeline.utterances[0]?.askedMs).toBeLessThan(2480 + 200 + 150 * 4);
  });

  it('is asked for with the whole history and the system prompt', () => {
    const stage = listening({ systemPrompt: 'Be brief.' });
    stage.model.says('At noon.');
    stage.user.says('When do you open?', ASKED);
    stage.user.says('And when do you close?', { from: 5000, to: 6000 });
    stage.playTo(10_000);
    expect(stage.model.requests[1]?.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'When do you open?' },
      { role: 'assistant', content: 'At noon.' },
      { role: 'user', content: 'And when do you close?' },
    ]);
  });

  it('has no second request beside it', () => {
    const stage = listening();
    stage.model.stalls();
    stage.user.types('one', { at: 1000 });
    stage.user.types('two', { at: 1100 });
    stage.playTo(5000);
    expect(stage.model.requests[0]?.cancelledMs).toBe(1100);
    expect(texts(stage)).toEqual(['one two']);
  });
});

describe('tools', () => {
  it('run side by side, and the model is asked again when all have answered', () => {
    const stage = listening();
    stage.tools.answers('tables', '3 free', { afterMs: 300 }).answers('weather', 'sunny', { afterMs: 900 });
    stage.model.calls([{ name: 'tables', args: { at: '19:00' } }, { name: 'weather' }]).says('Three tables, outside.');
    stage.user.says('Is there a table outside?', ASKED);
    stage.playTo(10_000);
    expect(stage.tools.runs.map(({ startMs }) => startMs)).toEqual([2690, 2690]);
    expect(stage.model.requests[1]?.atMs).toBe(2690 + 900);
    expect(stage.model.requests[1]?.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'call-1', name: 'tables', arguments: '{"at":"19:00"}' },
          { id: 'call-2', name: 'weather', arguments: '{}' },
        ],
      },
      { role: 'tool', toolCallId: 'call-1', content: '3 free' },
      { role: 'tool', toolCallId: 'call-2', content: 'sunny' },
    ]);
    stage.expectAgent('Three tables').isHeardWhole();
  });

  it('are announced as written where the message is strict', () => {
    const stage = listening({ toolSpeech: { tables: speech({}) } });
    stage.tools.answers('tables', '3 free', { afterMs: 100 });
    stage.model.calls([{ name: 'tables' }], { saying: 'Sure.' }).says('Yes, there is.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(10_000);
    stage.expectAgent('Let me look.').follows('Sure.').isHeardWhole();
    stage.expectAgent('Yes, there').isHeardWhole();
  });

  it('are announced by the model where the message is flexible, and by the message where it says nothing', () => {
    const toolSpeech = { tables: speech({ responseMode: 'flexible' }) };
    const stage = listening({ toolSpeech });
    stage.tools.answers('tables', '3 free');
    stage.model.calls([{ name: 'tables' }], { saying: 'I am looking.' }).says('Yes.');
    stage.model.calls([{ name: 'tables' }]).says('Again yes.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(8000).expectAgent('Let me look.').isNeverSaid();
    stage.user.says('Are you sure?', { from: 8000, to: 9000 });
    stage.playTo(15_000).expectAgent('Let me look.').isHeardWhole();
  });

  it('have one announcement for several calls, and take turns with their phrases', () => {
    const stage = listening({ toolSpeech: { tables: speech({ messages: ['Let me look.', 'One moment.'] }) } });
    stage.tools.answers('tables', '3 free');
    stage.model.calls([{ name: 'tables' }, { name: 'tables' }]).says('Yes.');
    stage.model.calls([{ name: 'tables' }]).says('Again yes.');
    stage.user.says('Is there a table?', ASKED);
    stage.user.says('Are you sure?', { from: 8000, to: 9000 });
    stage.playTo(15_000);
    const announced = stage.timeline.utterances.filter(({ kind }) => kind === 'tool').map(({ text }) => text);
    expect(announced).toEqual(['Let me look.', 'One moment.']);
  });

  it('start while the message plays, or after it', () => {
    for (const executeAfterMessage of [false, true]) {
      const stage = listening({ toolSpeech: { tables: speech({ executeAfterMessage }) } });
      stage.tools.answers('tables', '3 free');
      stage.model.calls([{ name: 'tables' }]).says('Yes.');
      stage.user.says('Is there a table?', ASKED);
      const saidMs = stage.playUntilAgentSays('Let me look.');
      stage.playTo(10_000);
      const started = stage.tools.runs[0]?.startMs ?? 0;
      expect(started > saidMs).toBe(executeAfterMessage);
      stage.expectAgent('Yes.').isHeardWhole();
    }
  });

  it("start after the model's own words, too, where these stand for the message", () => {
    const toolSpeech = { tables: speech({ responseMode: 'flexible', executeAfterMessage: true }) };
    const stage = listening({ toolSpeech });
    stage.tools.answers('tables', '3 free');
    stage.model.calls([{ name: 'tables' }], { saying: 'I am looking that up.' }).says('Yes.');
    stage.user.says('Is there a table?', ASKED);
    const saidMs = stage.playUntilAgentSays('I am looking');
    stage.playTo(10_000).expectAgent('I am looking').isHeardWhole();
    expect(stage.tools.runs[0]?.startMs).toBeGreaterThan(saidMs + 500);
  });

  it('start although their message could not be spoken', () => {
    const stage = listening({ toolSpeech: { tables: speech({ executeAfterMessage: true }) } });
    stage.tools.answers('tables', '3 free');
    stage.voice.fails();
    stage.model.calls([{ name: 'tables' }]).says('Yes.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(10_000).expectAgent('Yes.').isHeardWhole();
  });

  it('do not start when the user cuts in before they have, and the model learns it', () => {
    const stage = listening({
      toolSpeech: {
        book: speech({ messages: ['I am booking the table for you right now.'], executeAfterMessage: true }),
      },
    });
    stage.tools.answers('book', 'booked');
    stage.model.calls([{ name: 'book' }]).says('All right, no booking.');
    stage.user.says('Book it.', ASKED);
    const saidMs = stage.playUntilAgentSays('I am booking');
    stage.user.says('no wait', { from: saidMs + 600, to: saidMs + 1100 });
    stage.playTo(15_000);
    expect(stage.tools.runs).toEqual([]);
    expect(stage.model.requests[1]?.messages.find(({ role }) => role === 'tool')?.content).toMatch(/Not started/);
    expect(stage.model.requests).toHaveLength(2);
  });

  it('that run continue during an interruption, and their result is used in the next pause', () => {
    const stage = listening();
    stage.tools.answers('tables', '3 free', { afterMs: 6000 });
    stage.model.calls([{ name: 'tables' }], { saying: 'I am having a look at the book, please wait.' });
    stage.model.says('I am still looking.').says('There are three tables.');
    stage.user.says('Is there a table?', ASKED);
    const saidMs = stage.playUntilAgentSays('I am having');
    stage.user.says('hello, are you there?', { from: saidMs + 700, to: saidMs + 1700 });
    stage.playTo(20_000);
    expect(stage.model.requests[1]?.messages.find(({ role }) => role === 'tool')?.content).toMatch(/Still running/);
    expect(stage.model.requests[2]?.messages.find(({ role }) => role === 'tool')?.content).toBe('3 free');
    stage.expectAgent('I am still looking.').isHeardWhole();
    stage.expectAgent('There are three tables.').isHeardWhole();
    expect(stage.model.requests).toHaveLength(3);
  });

  it('in a pause may leave the model nothing to say: that is no failure', () => {
    const stage = listening();
    stage.tools.answers('tables', '3 free', { afterMs: 6000 });
    stage.model.calls([{ name: 'tables' }], { saying: 'I am having a look at the book, please wait.' });
    stage.model.says('Never mind, then.').saysNothing();
    stage.user.says('Is there a table?', ASKED);
    const saidMs = stage.playUntilAgentSays('I am having');
    stage.user.says('forget it', { from: saidMs + 700, to: saidMs + 1500 });
    stage.playTo(30_000);
    expect(stage.model.requests).toHaveLength(3);
    expect(stage.timeline.utterances.at(-1)?.text).toBe('Never mind, then.');
  });

  it('that never answer count as failed after their deadline', () => {
    const stage = listening({ deadlines: { toolMs: 8000 } });
    stage.tools.neverAnswers('tables');
    stage.model.calls([{ name: 'tables' }]).says('I cannot reach the book.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(20_000);
    expect(traces(stage)).toContain('tool.timeout');
    expect(stage.model.requests[1]?.atMs).toBe((stage.tools.runs[0]?.startMs ?? 0) + 8000);
    stage.expectAgent('I cannot reach').isHeardWhole();
  });

  it('that fail or do not exist have results for the model like any other', () => {
    const stage = listening();
    stage.tools.fails('tables', 'The server said 500.');
    stage.model.calls([{ name: 'tables' }, { name: 'constructor', args: '{broken' }]).says('That did not work.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(10_000);
    const results = stage.model.requests[1]?.messages
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => content);
    expect(results).toEqual(['The server said 500.', 'There is no tool called "constructor".']);
    stage.expectAgent('That did not').isHeardWhole();
  });

  it('called over and over end in an apology, not in a loop', () => {
    const stage = listening();
    stage.tools.answers('tables', 'ask again', { afterMs: 50 });
    for (let round = 0; round < 30; round++) stage.model.calls([{ name: 'tables' }]);
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(60_000);
    expect(stage.model.requests).toHaveLength(6);
    stage.expectAgent('I had trouble there').isHeardWhole();
  });

  it('whose calls have the same id in every reply are distinguished', () => {
    const stage = listening();
    stage.tools.answers('tables', '3 free');
    stage.model.calls([
      { name: 'tables', id: 'call_0' },
      { name: 'tables', id: 'call_0' },
    ]);
    stage.model.calls([{ name: 'tables', id: 'call_0' }]).says('Yes.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(10_000);
    expect(stage.tools.runs.map(({ call }) => call.id)).toEqual(['call_0', 'call_0-2', 'call_0-3']);
    stage.expectAgent('Yes.').isHeardWhole();
  });

  it('give results only once', () => {
    const stage = listening();
    stage.tools.answers('tables', '3 free', { afterMs: 300 });
    stage.model.calls([{ name: 'tables' }]).says('Yes.');
    stage.send({ type: 'tool.result', callId: 'call-1', ok: true, content: 'late' }, { at: 4000 });
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(10_000);
    expect(stage.model.requests).toHaveLength(2);
  });
});

describe('fillers', () => {
  const filler = { afterMs: 0, messages: ['Let me see.', 'Well now.'] };

  it('come at once where the threshold is 0, and the reply follows without a gap', () => {
    const stage = listening({ filler });
    stage.model.says('We open at noon.', { afterMs: 600 });
    stage.user.says('When do you open?', ASKED);
    stage.playTo(10_000);
    const decidedMs = stage.timeline.turns[0]?.atMs ?? 0;
    stage
      .expectAgent('Let me see.')
      .startsAt(decidedMs + 80, 20)
      .isHeardWhole();
    stage.expectAgent('We open').follows('Let me see.');
    expect(stage.messages[1]?.content).toBe('Let me see. We open at noon.');
  });

  it('come after the threshold, and not if the reply is there before', () => {
    for (const [afterMs, filled] of [
      [500, false],
      [1500, true],
    ] as const) {
      const stage = listening({ filler: { ...filler, afterMs: 1000 } });
      stage.model.says('We open at noon.', { afterMs });
      stage.user.says('When do you open?', ASKED);
      stage.playTo(10_000);
      expect(stage.timeline.utterances.some(({ kind }) => kind === 'filler')).toBe(filled);
    }
  });

  it('are not said twice running, whatever else is chosen in between', () => {
    const toolSpeech = { tables: speech({ messages: ['I look.'] }) };
    const stage = listening({ filler, toolSpeech });
    stage.tools.answers('tables', '3 free');
    let atMs = 1000;
    for (let turn = 0; turn < 5; turn++, atMs += 10_000) {
      stage.model.calls([{ name: 'tables' }], { afterMs: 800 }).says('Yes.', { afterMs: 800 });
      stage.user.says('Is there a table?', { from: atMs, to: atMs + 1000 });
    }
    stage.playTo(60_000);
    const said = stage.timeline.utterances.filter(({ kind }) => kind === 'filler').map(({ text }) => text);
    expect(said.length).toBeGreaterThanOrEqual(5);
    for (const [index, text] of said.entries()) if (index > 0) expect(text).not.toBe(said[index - 1]);
  });

  it('never answer an interruption', () => {
    const stage = listening({ filler });
    stage.model.says('We open at noon every day of the week and close at eleven.');
    stage.model.says('Sorry.', { afterMs: 1500 });
    stage.user.says('When do you open?', ASKED);
    const saidMs = stage.playUntilAgentSays('We open');
    stage.user.says('stop', { from: saidMs + 500, to: saidMs + 800 });
    stage.playTo(10_000);
    expect(stage.timeline.utterances.filter(({ kind }) => kind === 'filler')).toHaveLength(1);
  });

  it('do not follow the phrase of a tool at once: it has bridged the wait', () => {
    const stage = listening({ filler: { afterMs: 300, messages: ['Well now.'] }, toolSpeech: { tables: speech({}) } });
    stage.tools.answers('tables', '3 free', { afterMs: 1000 });
    stage.model.calls([{ name: 'tables' }]).says('Yes, there is.', { afterMs: 1500 });
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(10_000);
    stage.expectAgent('Yes, there is.').isHeardWhole();
    stage.expectAgent('Well now.').isNeverSaid();
  });

  it('bridge what is a stall also behind the phrase of a tool', () => {
    const stage = listening({ filler: { afterMs: 800, messages: ['Well now.'] }, toolSpeech: { tables: speech({}) } });
    stage.tools.answers('tables', '3 free', { afterMs: 9000 });
    stage.model.calls([{ name: 'tables' }], { afterMs: 50 }).says('Yes, there is.');
    stage.user.says('Is there a table?', ASKED);
    const endMs = stage.playUntilAgentSays('Let me look.') + 'Let me look.'.length * 60;
    stage.playTo(20_000);
    stage.expectAgent('Well now.').startsAt(endMs + 2500, 100);
  });

  it('bridge a model that stands still in the middle of its answer', () => {
    const stage = listening();
    stage.model.stalls({ saying: 'We have three tables. And' });
    stage.user.says('Is there a table?', ASKED);
    const endMs = stage.playUntilAgentSays('We have three') + 'We have three tables.'.length * 60;
    stage.playTo(20_000);
    stage.expectAgent('Let me see.').startsAt(endMs + 2500, 100);
    expect(stage.timeline.utterances.filter(({ kind }) => kind === 'filler')).toHaveLength(2);
    // Nobody is asked to wait for nothing.
    stage.expectAgent('I had trouble there').isHeardWhole();
  });

  it('are never the same twice in one wait, even where only one is configured', () => {
    const stage = listening({ filler: { afterMs: 0, messages: ['Well now.', 'Well now.'] } });
    stage.tools.answers('tables', '3 free', { afterMs: 20_000 });
    stage.model
      .calls([{ name: 'tables' }], { afterMs: 500 })
      .says('Yes.')
      .says('Yes.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(30_000);
    const said = stage.timeline.utterances.filter(({ kind }) => kind === 'filler').map(({ text }) => text);
    expect(said.slice(0, 3)).toEqual(['Well now.', expect.not.stringMatching('Well now.'), 'Well now.']);
  });

  it('bridge a stall by default, and do not crowd', () => {
    const stage = listening();
    stage.tools.answers('tables', '3 free', { afterMs: 14_000 });
    stage.model.calls([{ name: 'tables' }]).says('Yes.');
    stage.user.says('Is there a table?', ASKED);
    stage.playTo(30_000);
    const fillers = stage.timeline.utterances.filter(({ kind }) => kind === 'filler');
    expect(fillers.map(({ text }) => text)).toEqual(['Let me see.', 'One moment, please.', 'Just a second.']);
    expect((fillers[1]?.askedMs ?? 0) - (fillers[0]?.askedMs ?? 0)).toBeGreaterThanOrEqual(4000);
  });

  it('wait for a user who is making a sound', () => {
    const stage = listening({ filler: { ...filler, afterMs: 1000 } });
    stage.model.says('We open at noon.', { afterMs: 4000 });
    stage.user.says('When do you open?', ASKED);
    stage.user.noise({ from: 3300, to: 3600 });
    stage.playTo(12_000);
    stage.expectAgent('Let me see.').startsAt(4000, 700).isHeardWhole();
  });
});

describe('a model that fails', () => {
  it('before its first token: a filler, then an apology', () => {
    const stage = listening();
    stage.model.stalls();
    stage.user.says('When do you open?', ASKED);
    stage.playTo(20_000);
    const decidedMs = stage.timeline.turns[0]?.atMs ?? 0;
    stage.expectAgent('Let me see.').startsAt(decidedMs + 2500 + 80, 20);
    stage
      .expectAgent('I had trouble there')
      .startsAt(decidedMs + 9000 + 80, 20)
      .isHeardWhole();
    expect(stage.model.requests[0]?.cancelledMs).toBe(decidedMs + 9000);
  });

  it('in the middle: what it said stands, and a user who was asked to wait gets a message', () => {
    const stage = listening();
    stage.model.stalls({ saying: 'We open at noon. And on' });
    stage.user.says('When do you open?', ASKED);
    stage.playTo(30_000);
    stage.expectAgent('We open').isHeardWhole();
    stage.expectAgent('Let me see.').isHeardWhole();
    stage.expectAgent('I had trouble').isHeardWhole();
    expect(traces(stage)).toContain('reply.failed');
    expect(stage.conversation.state.reply).toBeNull();
  });

  it.each(['fails', 'saysNothing'] as const)('and %s: an apology at once', (how) => {
    const stage = listening();
    stage.model[how]();
    stage.user.says('When do you open?', ASKED);
    stage.playTo(10_000);
    stage.expectAgent('I had trouble there').startsAt((stage.timeline.turns[0]?.atMs ?? 0) + 280, 20);
    expect(stage.model.requests[0]?.cancelledMs).toBeNull();
  });

  it('three times running ends the call, with a word of apology', () => {
    const stage = listening();
    stage.model.fails().fails().fails();
    for (const atMs of [1000, 10_000, 20_000]) stage.user.says('When do you open?', { from: atMs, to: atMs + 1000 });
    expect(stage.playToEnd()).toBe('error');
    stage.expectAgent('something is wrong on my side').isHeardWhole();
    expect(timesOf(stage, 'line.close')).toHaveLength(1);
  });

  it('now and then does not', () => {
    const stage = listening();
    for (let turn = 0; turn < 6; turn++) {
      stage.user.says('When do you open?', { from: 1000 + turn * 10_000, to: 2000 + turn * 10_000 });
      if (turn % 2 === 0) stage.model.fails();
      else stage.model.says('At noon.');
    }
    stage.playTo(70_000);
    expect(stage.conversation.state.line).toBe('open');
  });

  it('and answers after all, too late, is not heard', () => {
    const stage = listening();
    stage.model.says('We open at noon.', { afterMs: 12_000 });
    stage.user.says('When do you open?', ASKED);
    stage.playTo(30_000).expectAgent('We open').isNeverSaid();
  });
});

describe('a model that begins late and then comes word by word', () => {
  it('is bridged all the same', () => {
    const stage = listening({ deadlines: { llmFirstMs: 1500, stallFillerMs: 500 }, speculation: { enabled: false } });
    stage.model.says('We open at noon and close at eleven.', { afterMs: 1200, gapMs: 3000 });
    stage.user.says('When are you open?', { from: 1000, to: 2200 });
    stage.playTo(40_000);
    expect(stage.timeline.utterances.filter(({ kind }) => kind === 'filler').length).toBeGreaterThan(1);
    stage.expectAgent('We open at noon').isHeardWhole();
  });
});
