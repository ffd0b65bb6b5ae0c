import { describe, expect, it } from 'vitest';
import { Stage } from '../../../src/stage/stage.js';
import { listening } from '../listening.js';

const texts = (stage: Stage) => stage.timeline.turns.map(({ text }) => text);

describe('digits', () => {
  it('are gathered until #, which ends them at once', () => {
    const stage = listening();
    for (const [index, key] of '4711#'.split('').entries()) stage.user.presses(key, { at: 1000 + index * 400 });
    stage.playTo(6000);
    expect(stage.timeline.turns).toMatchObject([{ text: '4711', atMs: 2600 }]);
  });

  it('are gathered until a pause', () => {
    const stage = listening({ endpointing: { numberInputDelayMs: 1500 } });
    for (const [index, key] of '12'.split('').entries()) stage.user.presses(key, { at: 1000 + index * 3000 });
    stage.playTo(12_000);
    expect(stage.timeline.turns).toMatchObject([{ text: '12', atMs: 4000 + 2000 + 1500 }]);
  });

  it('may come several at a time, with rows in between', () => {
    const stage = listening();
    stage.user.presses('12#34#5', { at: 1000 });
    stage.playTo(6000);
    expect(texts(stage)).toEqual(['12 34', '5']);
  });

  it('# alone is an answer too', () => {
    const stage = listening();
    stage.user.presses('#', { at: 1000 });
    stage.playTo(3000);
    expect(texts(stage)).toEqual(['#']);
  });

  it('and nothing else: other characters are dropped, endless rows cut', () => {
    const stage = listening();
    stage.user.presses('hello 1️', { at: 1000 });
    stage.playTo(8000);
    expect(texts(stage)).toEqual(['1']);
    stage.user.presses('9'.repeat(10_000), { at: 10_000 });
    stage.playTo(20_000);
    expect(stage.conversation.state.digits).toBe('');
  });

  it('stop the agent at the first key', () => {
    const stage = new Stage({
      config: { opening: { firstMessage: 'Press one for a table and two for the kitchen.' } },
    });
    stage.user.presses('1', { at: 1500 });
    stage.playTo(10_000);
    stage.expectAgent('Press one').isCutAt(1500, 20);
    expect(texts(stage)).toEqual(['1']);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it('wait for an agent that may not be interrupted', () => {
    const stage = new Stage({
      config: {
        opening: { firstMessage: 'Press one for a table and two for the kitchen.' },
        interruption: { openingAllowed: false },
      },
    });
    stage.user.presses('1#', { at: 1000 });
    stage.playTo(10_000);
    stage.expectAgent('Press one').isHeardWhole();
    stage.expectAgent('All right.').isHeardWhole();
    expect(texts(stage)).toEqual(['1']);
  });

  it('join what was said before them', () => {
    const stage = listening();
    stage.user.says('my number is', { from: 1000, to: 2000 });
    stage.user.presses('555#', { at: 2300 });
    stage.playTo(8000);
    expect(texts(stage)).toEqual(['my number is 555']);
  });
});

describe('typed text', () => {
  it('is a turn at once', () => {
    const stage = listening({ endpointing: { responseDelayMs: 2000 } });
    stage.user.types('  a table for four ', { at: 1000 });
    stage.playTo(5000);
    expect(stage.timeline.turns).toMatchObject([{ text: 'a table for four', atMs: 1000 }]);
  });

  it('that is empty is nothing', () => {
    const stage = listening();
    stage.user.types('   ', { at: 1000 });
    expect(stage.playTo(5000).model.requests).toEqual([]);
  });

  it('takes what is being said along', () => {
    const stage = listening();
    stage.user.says('please send it to', { from: 1000, to: 2400 });
    stage.user.types('ann@example.com', { at: 2650 });
    stage.playTo(9000);
    expect(texts(stage)).toEqual(['please send it to ann@example.com']);
  });
});
