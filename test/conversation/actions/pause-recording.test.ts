import { describe, expect, it } from 'vitest';
import type { Stage } from '../../../src/stage/stage.js';
import { listening } from '../listening.js';

const CARD = { from: 1000, to: 2500 };

function stage(maxMs = 60_000): Stage {
  return listening({ pauseRecording: { instruction: 'Use it for cards.', maxMs } });
}

/** Whether the recording was paused (true) or went on (false), with the times. */
function pauses({ timeline }: Stage): [boolean, number][] {
  return timeline.effects.flatMap(({ effect, atMs }) =>
    effect.type === 'recording.pause' ? [[effect.on, atMs] as [boolean, number]] : [],
  );
}

const toolNames = ({ model }: Stage): string[] => (model.requests[0]?.tools ?? []).map(({ name }) => name);

describe('pausing the recording', () => {
  it('is offered where it is allowed, with its instruction', () => {
    const allowed = stage();
    allowed.user.says('I will pay by card.', CARD);
    allowed.playTo(6000);
    expect(toolNames(allowed)).toEqual(['pause_recording', 'resume_recording']);
    expect(allowed.model.requests[0]?.tools[0]?.description).toContain('Use it for cards.');
    const other = listening();
    other.user.says('I will pay by card.', CARD);
    other.playTo(6000);
    expect(toolNames(other)).toEqual([]);
  });

  it('lasts from one call of the model to the other', () => {
    const one = stage();
    one.model.calls([{ name: 'pause_recording', args: {} }]).says('Please tell me the number.');
    one.user.says('I will pay by card.', CARD);
    one.model.calls([{ name: 'resume_recording', args: {} }]).says('Thank you, that worked.');
    one.user.says('four two four two', { from: 9000, to: 12_000 });
    one.playTo(20_000);
    expect(pauses(one).map(([on]) => on)).toEqual([true, false]);
    const [fromMs, toMs] = pauses(one).map(([, atMs]) => atMs);
    expect(fromMs).toBeLessThan(9000);
    expect(toMs).toBeGreaterThan(12_000);
    one.expectAgent('Please tell me').isHeardWhole();
    one.expectAgent('that worked').isHeardWhole();
  });

  it('ends by itself after its longest time', () => {
    const one = stage(5000);
    one.model.calls([{ name: 'pause_recording', args: {} }]).says('Please tell me the number.');
    one.user.says('I will pay by card.', CARD);
    one.playTo(30_000);
    const [fromMs = 0, toMs = 0] = pauses(one).map(([, atMs]) => atMs);
    expect(toMs - fromMs).toBe(5000);
  });

  it('is longer with another call, and ended by a command', () => {
    const one = stage(5000);
    one.model.calls([{ name: 'pause_recording', args: {} }]).says('Please tell me the number.');
    one.user.says('I will pay by card.', CARD);
    one.model.calls([{ name: 'pause_recording', args: {} }]).says('Go on.');
    one.user.says('one moment', { from: 4500, to: 5500 });
    one.playTo(9000);
    expect(pauses(one)).toHaveLength(1);
    one.send({ type: 'command.record', on: true }, { at: 9500 });
    one.playTo(30_000);
    expect(pauses(one).map(([on]) => on)).toEqual([true, false]);
  });
});
