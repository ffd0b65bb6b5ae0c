import { describe, expect, it } from 'vitest';
import type { Stage } from '../../../src/stage/stage.js';
import { listening } from '../listening.js';

const ASKED = { from: 1000, to: 2200 };

/** Sends the model's text as one piece, so that a scenario can flush it. */
function answering(pieces: readonly { text: string; atMs: number; flush?: boolean; pauseMs?: number }[]): Stage {
  const stage = listening({ speculation: { enabled: false } });
  stage.model.stalls();
  stage.user.says('When are you open?', ASKED);
  stage.playTo(3000);
  const requestId = stage.model.requests[0]?.requestId ?? 0;
  for (const { atMs, ...piece } of pieces) stage.send({ type: 'llm.text', requestId, ...piece }, { at: atMs });
  return stage;
}

describe('text that is flushed', () => {
  it('is spoken at once, whole sentence or not', () => {
    const stage = answering([
      { text: 'We open', atMs: 3000 },
      { text: ' at', atMs: 3200, flush: true },
    ]);
    stage.playTo(4000);
    stage.expectAgent('We open at').startsAt(3280, 20);
  });

  it('has the silence behind it that the model wants, and no longer a breath', () => {
    const stage = answering([
      { text: 'Let me see.', atMs: 3000, pauseMs: 1500 },
      { text: ' At noon.', atMs: 3000, flush: true },
    ]);
    stage.playTo(9000);
    const [first, second] = stage.timeline.utterances;
    expect((second?.played[0]?.from ?? 0) - (first?.played.at(-1)?.to ?? 0)).toBe(1500);
  });

  it('may be followed by a long pause that is not a fault', () => {
    const stage = answering([
      { text: 'Breathe in.', atMs: 3000, pauseMs: 9000 },
      { text: 'And out.', atMs: 3000, flush: true },
    ]);
    stage.playTo(16_000);
    stage.expectAgent('And out.').isHeardWhole();
    expect(stage.conversation.state.failures.voice).toBe(0);
  });
});

describe('command.hangUp', () => {
  it('ends the call when all has been said', () => {
    const stage = answering([{ text: 'Goodbye and take care of yourself.', atMs: 3000, flush: true }]);
    stage.send({ type: 'command.hangUp' }, { at: 3100 });
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent('Goodbye and take care').isHeardWhole();
  });

  it('is undone by a user who goes on', () => {
    const stage = answering([{ text: 'Goodbye and take care of yourself.', atMs: 3000, flush: true }]);
    stage.send({ type: 'command.hangUp' }, { at: 3100 });
    stage.user.says('Wait, one more question please.', { from: 3600, to: 5000 });
    stage.playTo(12_000);
    expect(stage.timeline.end).toBeNull();
  });
});

describe('command.transfer', () => {
  it('connects when all has been said, and announces it', () => {
    const stage = listening({ transfer: { targets: [], instruction: null, messages: [], anyTarget: true } });
    stage.line.connects();
    stage.user.says('Let me talk to somebody.', ASKED);
    stage.playUntilAgentSays('All right.');
    stage.send({ type: 'command.transfer', target: '+4930123456' }, { at: 5000 });
    expect(stage.playToEnd()).toBe('agent-ended');
    expect(stage.line.transfers).toMatchObject([{ target: '+4930123456' }]);
  });

  it('waits for a user who speaks, and for their answer', () => {
    const stage = listening({ transfer: { targets: [], instruction: null, messages: [], anyTarget: true } });
    stage.model.says('I am sorry to hear that.');
    stage.user.says('I have been waiting for an hour and this is not good.', { from: 1000, to: 5000 });
    stage.send({ type: 'command.transfer', target: '+4930123456' }, { at: 2000 });
    stage.playTo(5000);
    expect(stage.line.transfers).toEqual([]);
    stage.playTo(12_000);
    expect(stage.line.transfers).toHaveLength(1);
  });

  it('that is withdrawn while the user speaks is told to them when their turn is over', () => {
    const stage = listening({ transfer: { targets: [], instruction: null, messages: [], anyTarget: true } });
    stage.model.says('All right.');
    stage.line.connects({ afterMs: 60_000 });
    stage.send({ type: 'command.transfer', id: 1, target: '+4930123456' }, { at: 2000 });
    stage.user.says('Oh, and another thing about my order.', { from: 8000, to: 12_000 });
    stage.send({ type: 'command.withdraw', id: 1 }, { at: 9000 });
    stage.playTo(11_900);
    expect(stage.timeline.utterances.filter(({ askedMs }) => askedMs >= 9000)).toEqual([]);
    stage.playUntilAgentSays('All right.');
  });

  it('goes nowhere that the configuration does not allow', () => {
    const stage = listening();
    stage.send({ type: 'command.transfer', target: '+4930123456' }, { at: 2000 });
    stage.playTo(6000);
    expect(stage.line.transfers).toEqual([]);
  });
});

describe('command.generate', () => {
  it('that took the place of an answer and is withdrawn leaves the answer to be given', () => {
    const stage = listening({ speculation: { enabled: false } });
    stage.model.stalls().stalls().says('We open at noon.');
    stage.user.says('When are you open?', ASKED);
    stage.send({ type: 'command.generate', id: 1, instructions: 'Ask for the name.', when: 'now' }, { at: 4000 });
    stage.send({ type: 'command.withdraw', id: 1 }, { at: 5000 });
    expect(stage.playUntilAgentSays('We open at noon.')).toBeLessThan(7000);
    expect(stage.model.requests).toHaveLength(3);
  });
});

describe('command.hold', () => {
  it.each([
    ['an answer that was not heard', 4600],
    ['the rest of an answer', 6500],
  ])('leaves %s for afterwards, also after what a program has said', (_what, holdMs) => {
    const stage = listening({ speculation: { enabled: false } });
    stage.model.says('We open at noon, and close at eleven in the evening.', { afterMs: 1500 }).says('Until eleven.');
    stage.user.says('When are you open?', ASKED);
    stage.send({ type: 'command.say', text: 'One moment.' }, { at: 2600 });
    stage.send({ type: 'command.hold', music: false, maxMs: 60_000 }, { at: holdMs });
    stage.send({ type: 'command.unhold' }, { at: 12_000 });
    expect(stage.playUntilAgentSays('Until eleven.')).toBeLessThan(14_000);
  });

  it('is followed by silence where all was said', () => {
    const stage = listening({ speculation: { enabled: false } });
    stage.model.says('At noon.');
    stage.user.says('When are you open?', ASKED);
    stage.send({ type: 'command.hold', music: false, maxMs: 60_000 }, { at: 8000 });
    stage.send({ type: 'command.unhold' }, { at: 12_000 });
    stage.playTo(16_000);
    expect(stage.model.requests).toHaveLength(1);
  });
});

describe('messages of an earlier session', () => {
  it('come first in what the model is given', () => {
    const stage = listening({
      systemPrompt: 'You are a desk.',
      earlier: [
        { role: 'user', content: 'I am Ann.' },
        { role: 'assistant', content: 'Hello Ann.' },
      ],
      history: { messageLimit: 2, toolResultLimit: null },
    });
    stage.user.says('Do you know my name?', ASKED);
    stage.playTo(6000);
    expect(stage.model.requests[0]?.messages.map(({ content }) => content)).toEqual([
      'You are a desk.',
      'Hello Ann.',
      'Do you know my name?',
    ]);
    expect(stage.messages.map(({ content }) => content)).toEqual(['Do you know my name?', 'All right.']);
  });
});
