import { describe, expect, it } from 'vitest';
import { Stage } from '../../src/stage/stage.js';

const opening = { firstMessage: 'Hello, what can I do for you?' };

describe('a stage', () => {
  it('plays the same script to the same timeline', () => {
    const play = (): string => {
      const stage = new Stage({ config: { opening } });
      stage.tools.answers('tables', '3 free');
      stage.model.calls([{ name: 'tables' }], { saying: 'One moment.' }).says('Yes, there are three.');
      stage.user.says('I would like a table.', { from: 3000, to: 4200 });
      return stage.playTo(20_000).timeline.toString();
    };
    expect(play()).toBe(play());
  });

  it('can be written to while it plays', () => {
    const stage = new Stage({ config: { opening } });
    const atMs = stage.playUntilAgentSays('Hello');
    stage.user.says('Stop.', { from: atMs + 500, to: atMs + 800 });
    stage.playTo(5000);
    stage.expectAgent('Hello').isCutAt(atMs + 560, 20);
    stage.user.hangsUp({ at: 0 });
    expect(stage.playToEnd()).toBe('user-ended');
    expect(stage.timeline.end?.atMs).toBe(5000);
  });

  it('speaks at the rate and with the latency that it is given', () => {
    const stage = new Stage({ config: { opening }, voice: { msPerChar: 10, latencyMs: 205 } }).playTo(1000);
    const [hello] = stage.timeline.utterances;
    expect(hello?.played).toEqual([{ from: 220, to: 220 + opening.firstMessage.length * 10 }]);
    expect(hello?.isWhole).toBe(true);
  });

  it('cancelled requests say nothing more', () => {
    const stage = new Stage();
    stage.model.says('This comes much too late.', { afterMs: 3000 });
    stage.user.types('Hello?', { at: 1000 });
    stage.playTo(10_000);
    stage.expectAgent('This comes').isNeverSaid();
    expect(stage.model.requests[0]?.cancelledMs).toBe(1000);
  });

  it('says what is wrong, with the timeline', () => {
    const stage = new Stage({ config: { opening } });
    stage.user.says('Stop it.', { from: 700, to: 1400 });
    stage.playTo(5000);
    const hello = stage.expectAgent('Hello');
    const wrong: [string, () => unknown][] = [
      ['starts at 500 (within 0 ms), but it starts at 80', () => hello.startsAt(500)],
      ['is heard whole, but it is not', () => hello.isHeardWhole()],
      ['is never heard, but it is heard at 80', () => hello.isNeverHeard()],
      ['is never said, but it is requested at 0', () => hello.isNeverSaid()],
      ['is cut at 100', () => hello.isCutAt(100)],
      ['pauses from 100 until 200', () => hello.pauses(100, 200)],
      ['The agent never says "Nonsense"', () => stage.expectAgent('Nonsense').isHeardWhole()],
      ['The agent never says "Nonsense"', () => stage.playUntilAgentSays('Nonsense')],
    ];
    for (const [message, expectation] of wrong) expect(expectation).toThrow(message);
    expect(() => hello.isHeardWhole()).toThrow('> line.opened');
  });

  it('merges settings section by section', () => {
    const stage = new Stage({ config: { opening, interruption: { allowed: false } } });
    stage.user.says('Stop.', { from: 500, to: 800 });
    stage.playTo(4000).expectAgent('Hello').isHeardWhole();
  });
});
