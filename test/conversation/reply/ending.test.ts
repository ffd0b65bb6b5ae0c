import { describe, expect, it } from 'vitest';
import { Stage, type StageConfig } from '../../../src/stage/stage.js';
import { listening, timesOf, traces } from '../listening.js';

const SAID = { from: 1000, to: 2200 };
const GOODBYE = 'Thank you for calling, and have a lovely evening.';

function sayingGoodbye(config: StageConfig = {}): { stage: Stage; atMs: number } {
  const stage = listening({ endCall: { enabled: true, messages: [GOODBYE] }, ...config });
  stage.model.calls([{ name: 'end_call' }]);
  stage.user.says('No, that is all.', SAID);
  return { stage, atMs: stage.playUntilAgentSays('Thank you for calling') };
}

describe('the agent hangs up', () => {
  it('after its goodbye has been played in full', () => {
    const { stage, atMs } = sayingGoodbye();
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent(GOODBYE).isHeardWhole();
    expect(stage.timeline.end?.atMs).toBe(atMs + GOODBYE.length * 60 - 20);
  });

  it('after a goodbye that takes longer than the deadline of hanging up', () => {
    const long = 'Thank you for calling. '.repeat(20);
    const { stage } = sayingGoodbye({ endCall: { enabled: true, messages: [long] } });
    stage.playToEnd();
    stage.expectAgent('Thank you').isHeardWhole();
  });

  it('with the words that the model puts into the call', () => {
    const stage = listening({ endCall: { enabled: true } });
    stage.model.calls([{ name: 'end_call', args: { message: 'See you on Friday!' } }]);
    stage.user.says('No, that is all.', SAID);
    stage.playToEnd();
    stage.expectAgent('See you on Friday!').isHeardWhole();
  });

  it.each([
    ['Your table is booked.', ['Your table is booked.', 'Goodbye then!']],
    ['Your table is booked, goodbye!', ['Your table is booked, goodbye!']],
  ])('and says goodbye once: after "%s"', (saying, expected) => {
    const stage = listening({ endCall: { enabled: true } });
    stage.model.calls([{ name: 'end_call', args: { message: 'Goodbye then!' } }], { saying });
    stage.user.says('No, that is all.', SAID);
    stage.playToEnd();
    expect(stage.timeline.utterances.map(({ text }) => text).join(' ')).toBe(expected.join(' '));
  });

  it('and says a configured goodbye once, also where the model has said it already', () => {
    const stage = listening({ endCall: { enabled: true, messages: [GOODBYE] } });
    stage.model.calls([{ name: 'end_call' }], { saying: `You are welcome. ${GOODBYE}` });
    stage.user.says('No, that is all.', SAID);
    expect(stage.playToEnd()).toBe('agent-ended');
    const said = stage.timeline.utterances.filter(({ text }) => text.includes('lovely evening'));
    expect(said.map(({ isWhole }) => isWhole)).toEqual([true]);
  });

  it.each(['', '{broken', '[]', '{"message":7}'])('with a stock goodbye where its arguments are %j', (args) => {
    const stage = listening({ endCall: { enabled: true } });
    stage.model.calls([{ name: 'end_call', args }]);
    stage.user.says('No, that is all.', SAID);
    stage.playToEnd();
    stage.expectAgent('Goodbye.').isHeardWhole();
  });

  it('only if it may: else the call is a tool like any other', () => {
    const stage = listening();
    stage.model.calls([{ name: 'end_call' }]).says('I cannot do that.');
    stage.user.says('No, that is all.', SAID);
    stage.playTo(20_000);
    expect(stage.conversation.state.line).toBe('open');
    expect(stage.tools.runs).toHaveLength(1);
  });

  it('not beside other calls, whose results may change the plan', () => {
    const stage = listening({ endCall: { enabled: true } });
    stage.tools.answers('book', 'The table is gone.');
    stage.model.calls([{ name: 'book' }, { name: 'end_call' }]).says('I am sorry, that table is gone.');
    stage.user.says('Book it, and goodbye.', SAID);
    stage.playTo(20_000);
    stage.expectAgent('that table is gone').isHeardWhole();
    expect(stage.conversation.state.line).toBe('open');
  });

  it('offering the action with its instruction', () => {
    const stage = listening({ endCall: { enabled: true, instruction: 'Only after a booking.' } });
    stage.user.says('Hello.', SAID);
    stage.playTo(5000);
    expect(stage.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['end_call']);
    expect(stage.model.requests[0]?.tools[0]?.description).toContain('Only after a booking.');
  });
});

describe('words over the goodbye', () => {
  it.each(['Oh wait, one more thing.', 'no', 'can I change the time'])('"%s" reopens the conversation', (words) => {
    const { stage, atMs } = sayingGoodbye();
    stage.user.says(words, { from: atMs + 600, to: atMs + 1500 });
    stage.playTo(atMs + 20_000);
    expect(stage.conversation.state.line).toBe('open');
    expect(traces(stage)).toContain('ending.reopened');
    stage.expectAgent('All right.').isHeardWhole();
    const results = stage.model.requests[1]?.messages.filter(({ role }) => role === 'tool');
    expect(results?.[0]?.content).toMatch(/not ended/);
  });

  it.each(['bye', 'Thank you, bye bye.', 'thank you so much', 'okay thanks you too', 'mm-hm'])(
    '"%s" does not',
    (words) => {
      const { stage, atMs } = sayingGoodbye();
      stage.user.says(words, { from: atMs + 600, to: atMs + 1300 });
      expect(stage.playToEnd()).toBe('agent-ended');
      stage.expectAgent(GOODBYE).isHeardWhole();
    },
  );

  it('typed, they reopen it too', () => {
    const { stage, atMs } = sayingGoodbye();
    stage.user.types('wait', { at: atMs + 600 });
    stage.playTo(atMs + 20_000);
    expect(stage.conversation.state.line).toBe('open');
  });

  it('that may not interrupt keep the line open: the goodbye is played out, then they are answered', () => {
    const { stage, atMs } = sayingGoodbye({ interruption: { allowed: false } });
    stage.user.says('Oh wait, one more thing.', { from: atMs + 600, to: atMs + 1500 });
    stage.playTo(atMs + 20_000);
    stage.expectAgent(GOODBYE).isHeardWhole();
    stage.expectAgent('All right.').isHeardWhole();
    expect(stage.conversation.state.line).toBe('open');
  });

  it('that are discarded wherever they are said over the agent are so here', () => {
    const { stage, atMs } = sayingGoodbye({ interruption: { allowed: false, keepMessage: false } });
    stage.user.says('Oh wait, one more thing.', { from: atMs + 600, to: atMs + 1500 });
    expect(stage.playToEnd()).toBe('agent-ended');
  });

  it('do not reopen an end that the engine has decided', () => {
    const stage = listening({ limits: { maxDurationMs: 10_000, message: 'We have to stop here now.' } });
    stage.user.says('But I still have a question!', { from: 10_500, to: 11_500 });
    stage.user.types('wait', { at: 11_000 });
    expect(stage.playToEnd()).toBe('timeout');
    stage.expectAgent('We have to stop').isHeardWhole();
    expect(timesOf(stage, 'playout.hold')).toEqual([]);
  });
});

describe('the line is closed once, and nothing comes after it', () => {
  const states: Record<string, (stage: Stage) => void> = {
    'while nobody speaks': () => undefined,
    'while the user speaks': (stage) => {
      stage.user.noiseWithoutEnd({ from: 4000 });
    },
    'while the model thinks': (stage) => {
      stage.model.stalls();
      stage.user.says('Hello.', { from: 3000, to: 3500 });
    },
    'while the agent speaks': (stage) => {
      stage.model.says('A long sentence that takes its time to be said.');
      stage.user.says('Hello.', { from: 3000, to: 3500 });
    },
    'while the agent is held': (stage) => {
      stage.model.says('A long sentence that takes its time to be said.');
      stage.user.says('Hello.', { from: 3000, to: 3500 });
      stage.user.noiseWithoutEnd({ from: 4800 });
    },
    'while the model thinks and is held': (stage) => {
      stage.model.stalls();
      stage.user.says('Hello.', { from: 3000, to: 3500 });
      stage.user.noiseWithoutEnd({ from: 4800 });
    },
    'while a tool runs': (stage) => {
      stage.tools.neverAnswers('slow');
      stage.model.calls([{ name: 'slow' }]);
      stage.user.says('Hello.', { from: 3000, to: 3500 });
    },
    'while digits come': (stage) => {
      stage.user.presses('12', { at: 4900 });
    },
  };

  for (const [name, arrange] of Object.entries(states)) {
    it.each([
      ['user-ended', { type: 'line.closed', error: null }],
      ['error', { type: 'line.closed', error: 'broken' }],
      ['api-ended', { type: 'command.end' }],
      ['error', { type: 'ears.failed', reason: 'gone' }],
    ] as const)(`${name}: %s`, (status, event) => {
      const stage = listening();
      arrange(stage);
      stage.send(event, { at: 5000 });
      expect(stage.playToEnd()).toBe(status);
      expect(timesOf(stage, 'line.close')).toHaveLength(event.type === 'line.closed' ? 0 : 1);
      if (event.type !== 'ears.failed') expect(stage.timeline.end?.atMs).toBe(5000);
      else stage.expectAgent('something is wrong').isHeardWhole();
      expect(stage.conversation.nextDeadlineMs).toBeUndefined();
      expect(stage.conversation.step({ type: 'text', text: 'hello?' }, 60_000)).toEqual([]);
    });
  }

  it('before it was opened', () => {
    const stage = listening();
    stage.conversation.step({ type: 'line.closed', error: null }, 0);
    expect(stage.conversation.state.ending?.status).toBe('user-ended');
    expect(stage.conversation.step({ type: 'line.opened' }, 1)).toEqual([]);
  });
});

describe('the API', () => {
  it('has something said after what is being said', () => {
    const stage = new Stage({ config: { opening: { firstMessage: 'Hello there.' } } });
    stage.send({ type: 'command.say', text: 'Your taxi has arrived.' }, { at: 300 });
    stage.playTo(10_000);
    stage.expectAgent('Your taxi').follows('Hello there.').isHeardWhole();
  });

  it('but not over the user: it waits until they have finished', () => {
    const stage = listening();
    stage.user.says('I would like a table for four.', { from: 1000, to: 3000 });
    stage.send({ type: 'command.say', text: 'Your taxi has arrived.' }, { at: 2000 });
    stage.playTo(12_000);
    expect(stage.timeline.utterances.find(({ text }) => text.startsWith('Your taxi'))?.askedMs).toBeGreaterThan(3000);
    stage.expectAgent('Your taxi').isHeardWhole();
    stage.expectAgent('All right.').isHeardWhole();
  });

  it('cannot have nothing said', () => {
    const stage = listening();
    stage.send({ type: 'command.say', text: ' … ' }, { at: 300 });
    expect(stage.playTo(5000).timeline.utterances).toEqual([]);
  });

  it('ends the call at once', () => {
    const stage = new Stage({ config: { opening: { firstMessage: 'Hello there, my good friend.' } } });
    stage.send({ type: 'command.end' }, { at: 700 });
    expect(stage.playToEnd()).toBe('api-ended');
    stage.expectAgent('Hello').isCutAt(700, 20);
    expect(stage.messages).toEqual([{ role: 'assistant', content: 'Hello' }]);
  });
});
