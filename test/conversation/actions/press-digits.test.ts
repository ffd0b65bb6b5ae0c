import { describe, expect, it } from 'vitest';
import type { Stage, StageConfig } from '../../../src/stage/stage.js';
import { listening, timesOf } from '../listening.js';

const MENU = { from: 1000, to: 3200 };
const KEYPAD: StageConfig = { keypad: { enabled: true, instruction: null } };

function pressing(digits: unknown, config: StageConfig = {}): Stage {
  const stage = listening({ ...KEYPAD, ...config });
  stage.model.calls([{ name: 'press_digits', args: { digits } }]).saysNothing();
  stage.user.says('For opening hours, press one.', MENU);
  return stage;
}

const results = (stage: Stage) =>
  stage.model.requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));

describe('pressing keys', () => {
  it('is offered with its instruction, where it is allowed', () => {
    for (const enabled of [true, false]) {
      const stage = listening({ keypad: { enabled, instruction: 'Always take the first option.' } });
      stage.user.says('For opening hours, press one.', MENU);
      stage.playTo(6000);
      const tools = stage.model.requests[0]?.tools ?? [];
      expect(tools.map(({ name }) => name)).toEqual(enabled ? ['press_digits'] : []);
      if (enabled) expect(tools[0]?.description).toContain('Always take the first option.');
    }
  });

  it('tells the model what was pressed, and lets it listen in silence', () => {
    const stage = pressing('1w2#');
    stage.playTo(20_000);
    expect(stage.line.pressed.map(({ digits }) => digits)).toEqual(['1w2#']);
    expect(results(stage)).toEqual(['Pressed 1w2#.']);
    expect(stage.timeline.utterances).toEqual([]);
    stage.user.says('We are open from nine to five.', { from: 21_000, to: 23_000 });
    stage.playTo(30_000);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it.each([
    ['0123456789*#', '0123456789*#'],
    ['a b-c d', 'ABCD'],
    ['(555) 01-00', '5550100'],
    ['WW1W', 'ww1w'],
    [42, '42'],
  ])('understands %j', (digits, keys) => {
    const stage = pressing(digits);
    stage.playTo(20_000);
    expect(stage.line.pressed.map((pressed) => pressed.digits)).toEqual([keys]);
  });

  it.each(['', 'one', '1,2', 'www', '1;rm', null, undefined, { a: 1 }, '1'.repeat(65)])('refuses %j', (digits) => {
    const stage = pressing(digits);
    stage.playTo(20_000);
    expect(stage.line.pressed).toEqual([]);
    expect(results(stage)).toEqual([expect.stringMatching(/^Nothing was pressed/)]);
  });

  it('waits until the agent has said what it says with it', () => {
    const stage = listening(KEYPAD);
    stage.model.calls([{ name: 'press_digits', args: { digits: '1' } }], { saying: 'I will press one for you.' });
    stage.model.saysNothing();
    stage.user.says('For opening hours, press one.', MENU);
    stage.playTo(20_000);
    stage.expectAgent('I will press').isHeardWhole();
    expect(stage.line.pressed[0]?.atMs).toBe((stage.timeline.utterances[0]?.played.at(-1)?.to ?? 0) - 20);
  });

  it('goes on while the line talks, which is answered afterwards', () => {
    const stage = pressing('5551234567');
    stage.user.says('You have chosen opening hours.', { from: 4300, to: 5200 });
    stage.playTo(20_000);
    expect(timesOf(stage, 'playout.hold')).toEqual([]);
    expect(timesOf(stage, 'playout.drop')).toEqual([]);
    expect(stage.timeline.turns.map(({ text }) => text)).toEqual([
      'For opening hours, press one.',
      'You have chosen opening hours.',
    ]);
  });

  it('is bridged by no filler, and is no idleness', () => {
    const stage = pressing('1'.repeat(40), {
      filler: { afterMs: 500, messages: ['Let me see.'] },
      inactivity: { idleMs: 3000, message: null },
      limits: { maxIdleMs: 6000 },
    });
    stage.playTo(4000);
    const pressedMs = stage.line.pressed[0]?.atMs ?? 0;
    stage.playTo(pressedMs + 40 * 200 + 2000);
    const spoken = stage.timeline.utterances.filter(({ askedMs }) => askedMs >= pressedMs);
    expect(spoken).toEqual([]);
    expect(stage.conversation.state.line).toBe('open');
  });

  it('keeps what others want said until it is over', () => {
    const stage = pressing('1'.repeat(20));
    stage.send({ type: 'command.say', text: 'Your taxi has arrived.' }, { at: 4500 });
    stage.playTo(20_000);
    const doneMs = (stage.line.pressed[0]?.atMs ?? 0) + 20 * 200;
    expect(stage.timeline.utterances[0]?.askedMs).toBe(doneMs);
  });

  it('comes after the phrases of calls beside it, and the model is asked when all have answered', () => {
    const stage = listening({
      ...KEYPAD,
      toolSpeech: { lookup: { messages: ['I look it up.'], responseMode: 'strict', executeAfterMessage: false } },
    });
    stage.tools.answers('lookup', 'Account 12.');
    stage.model.calls([{ name: 'press_digits', args: { digits: '1' } }, { name: 'lookup' }]).saysNothing();
    stage.user.says('Enter your account number.', MENU);
    stage.playTo(20_000);
    expect(stage.line.pressed[0]?.atMs).toBe((stage.timeline.utterances[0]?.played.at(-1)?.to ?? 0) - 20);
    expect(stage.model.requests).toHaveLength(2);
    expect(results(stage)).toHaveLength(2);
  });

  it('that the line never finishes is given up', () => {
    const stage = listening(KEYPAD);
    stage.model.calls([{ name: 'press_digits', args: { digits: '1' }, id: 'a' }]).says('That did not work.');
    stage.user.says('For opening hours, press one.', MENU);
    stage.line.press = () => undefined;
    stage.playTo(90_000);
    stage.expectAgent('That did not work.').isHeardWhole();
  });

  it('is a tool like any other where it is not allowed', () => {
    const stage = pressing('1', { keypad: { enabled: false, instruction: null } });
    stage.playTo(20_000);
    expect(stage.line.pressed).toEqual([]);
    expect(stage.tools.runs).toHaveLength(1);
  });
});
