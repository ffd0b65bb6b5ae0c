import { describe, expect, it } from 'vitest';
import { Stage } from '../../../src/stage/stage.js';
import { listening, timesOf } from '../listening.js';

const GREETING = 'Hello, what can I do for you?';

describe('the agent opens', () => {
  it('with its first message, at once', () => {
    const stage = new Stage({ config: { opening: { firstMessage: GREETING } } }).playTo(4000);
    stage.expectAgent('Hello').startsAt(80).isHeardWhole();
    expect(stage.model.requests).toEqual([]);
    expect(stage.messages).toEqual([{ role: 'assistant', content: GREETING }]);
  });

  it('with words of the model where it has no first message', () => {
    const stage = new Stage();
    stage.model.says('Good morning.');
    stage.playTo(4000);
    stage.expectAgent('Good morning').startsAt(300, 20).isHeardWhole();
    expect(stage.model.requests).toHaveLength(1);
  });

  it.each(['', '…'])('with words of the model where the first message is %j', (firstMessage) => {
    const stage = new Stage({ config: { opening: { firstMessage } } });
    stage.model.says('Good morning.');
    stage.playTo(4000).expectAgent('Good morning').isHeardWhole();
  });

  it('without a filler before its greeting', () => {
    const stage = new Stage({ config: { filler: { afterMs: 0, messages: ['Let me see.'] } } });
    stage.model.says('Good morning.', { afterMs: 2000 });
    stage.playTo(5000).expectAgent('Let me see').isNeverSaid();
  });

  it('with a stock greeting if the model fails, and does not ask the user to repeat anything', () => {
    const stage = new Stage();
    stage.model.fails();
    stage.playTo(4000).expectAgent('Hello, how can I help you?').isHeardWhole();
  });

  it('with a stock greeting where the model says nothing', () => {
    const stage = new Stage();
    stage.model.saysNothing();
    stage.playTo(4000).expectAgent('Hello, how can I help you?').isHeardWhole();
  });

  it('only once, however often the line is opened', () => {
    const stage = new Stage({ config: { opening: { firstMessage: GREETING } } });
    stage.send({ type: 'line.opened' }, { at: 10 });
    stage.playTo(4000);
    expect(stage.timeline.utterances).toHaveLength(1);
  });
});

describe('the user opens', () => {
  it('and the first message is then never said', () => {
    const stage = new Stage({ config: { opening: { firstMessage: GREETING, userStarts: true } } });
    stage.user.says('Hi, I need a table.', { from: 1000, to: 2000 });
    stage.playTo(30_000);
    stage.expectAgent('All right.').isHeardWhole();
    stage.expectAgent('Hello').isNeverSaid();
  });

  it('or the agent does after all, if the user is silent', () => {
    const stage = new Stage({
      config: { opening: { firstMessage: GREETING, userStarts: true, userStartTimeoutMs: 6000 } },
    });
    stage.playTo(20_000).expectAgent('Hello').startsAt(6080);
    expect(timesOf(stage, 'speak')).toHaveLength(1);
  });

  it('and mere noise does not put the agent off for ever', () => {
    const stage = new Stage({
      config: { opening: { firstMessage: GREETING, userStarts: true, userStartTimeoutMs: 3000 } },
    });
    stage.user.noise({ from: 2800, to: 3200 });
    stage.playTo(20_000).expectAgent('Hello').startsAt(4500, 600);
  });

  it('and the agent does not speak into their first words', () => {
    const stage = new Stage({
      config: { opening: { firstMessage: GREETING, userStarts: true, userStartTimeoutMs: 3000 } },
    });
    stage.user.says('Hi there, I am calling about a table', { from: 2800, to: 5000 });
    stage.playTo(20_000).expectAgent('Hello').isNeverSaid();
    expect(stage.timeline.turns.map(({ text }) => text)).toEqual(['Hi there, I am calling about a table']);
  });

  it('with keys as well as with words', () => {
    const stage = new Stage({
      config: { opening: { firstMessage: GREETING, userStarts: true, userStartTimeoutMs: 3000 } },
    });
    stage.user.presses('12', { at: 2900 });
    stage.playTo(20_000).expectAgent('Hello').isNeverSaid();
    expect(stage.timeline.turns.map(({ text }) => text)).toEqual(['12']);
  });
});

describe('an opening that must not be interrupted', () => {
  const opening = { firstMessage: 'This call is recorded for training. How can I help?' };
  const interruption = { openingAllowed: false };

  it('is played to its end, and what was said over it is answered then', () => {
    const stage = new Stage({ config: { opening, interruption } });
    stage.user.says('I want a table', { from: 800, to: 1600 });
    stage.playTo(10_000);
    stage.expectAgent('This call').isHeardWhole();
    stage.expectAgent('All right.').isHeardWhole().startsAt(3140, 400);
    expect(timesOf(stage, 'playout.hold')).toEqual([]);
    expect(timesOf(stage, 'playout.drop')).toEqual([]);
  });

  it('also where the model speaks it', () => {
    const stage = new Stage({ config: { interruption } });
    stage.model.says('This call is recorded for training, as the law demands.');
    stage.user.says('stop', { from: 1500, to: 1800 });
    stage.playTo(6000);
    stage.expectAgent('as the law demands').isHeardWhole();
  });

  it('also while the model still thinks about it', () => {
    const stage = new Stage({ config: { interruption } });
    stage.model.says('This call is recorded for training, as the law demands.', { afterMs: 1500 });
    stage.user.says('I want a table', { from: 300, to: 1100 });
    stage.playTo(12_000);
    stage.expectAgent('as the law demands').isHeardWhole();
    stage.expectAgent('All right.').isHeardWhole();
    expect(stage.model.requests[0]?.cancelledMs).toBeNull();
  });

  it('also where stock words stand in for the model’s', () => {
    const stage = new Stage({ config: { interruption } });
    stage.model.fails();
    stage.user.says('I want a table', { from: 600, to: 1400 });
    stage.playTo(12_000).expectAgent('Hello, how can I help you?').isHeardWhole();
  });

  it('nor the phrase of a tool that it calls', () => {
    const toolSpeech = {
      look: { messages: ['I am looking it up for you.'], responseMode: 'strict' as const, executeAfterMessage: false },
    };
    const stage = new Stage({ config: { interruption, toolSpeech } });
    stage.user.says('I want a table', { from: 4900, to: 6000 });
    stage.model.calls([{ name: 'look', args: '{}' }], { afterMs: 5000 });
    stage.playTo(12_000).expectAgent('I am looking it up').isHeardWhole();
  });

  it('while later words of the agent may be', () => {
    const stage = new Stage({ config: { opening, interruption } });
    stage.model.says('We have many tables, all of them by the window and with a view over the sea.');
    stage.user.says('tell me about your tables', { from: 4000, to: 5000 });
    const startMs = stage.playUntilAgentSays('all of them');
    stage.user.says('stop', { from: startMs + 500, to: startMs + 800 });
    stage
      .playTo(15_000)
      .expectAgent('all of them')
      .isCutAt(startMs + 560, 20);
  });
});

it('waits for the line', () => {
  const stage = listening();
  expect(stage.conversation.nextDeadlineMs).toBeUndefined();
  expect(stage.conversation.step({ type: 'text', text: 'early' }, 0)).toEqual([]);
});
